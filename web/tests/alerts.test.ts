import { expect, test } from 'vitest';
import { conditionOfRules, plain, sentenceOf } from '../src/words/alerts';
import { documentOf } from '../src/words/yaml';

const alert = {
  name: 'A',
  filteringRules: {
    resources: ['table', 'topic'],
    rules: [
      { effect: 'include' as const, condition: "tier == 'Tier.Tier1'" },
      { effect: 'exclude' as const, condition: 'isBot()', prefixCondition: 'AND' as const },
    ],
  },
  destinations: [
    { category: 'Owners' as const, type: 'Slack' as const, notifyDownstream: true, downstreamDepth: 2 },
    { category: 'Owners' as const, type: 'ActivityFeed' as const },
    {
      category: 'External' as const,
      type: 'Webhook' as const,
      config: { endpoint: 'https://hooks.example.com/x' },
    },
  ],
};

test('an alert is a sentence', () =>
  expect(plain(sentenceOf(alert))).toBe(
    'When a table or topic is Tier 1 and is not changed by a bot, tell owners and those of what lies up to 2 steps' +
      ' below by Slack and bell and hooks.example.com by webhook, at once.',
  ));

test('an alert without destinations tells nobody', () =>
  expect(plain(sentenceOf({ ...alert, destinations: [] }))).toContain('tell nobody'));

test('rules are one condition', () => {
  expect(conditionOfRules(alert.filteringRules.rules)).toBe("tier == 'Tier.Tier1' && !(isBot())");
  expect(conditionOfRules([{ effect: 'include', condition: 'a == 1 || b == 2' }])).toBe('a == 1 || b == 2');
  expect(conditionOfRules([])).toBe('');
});

test('YAML is as the command reads it', () =>
  expect(
    documentOf({ name: 'A', rules: [{ condition: "a == 'b'", effect: 'include' }], off: 'no', none: null }),
  ).toBe('name: A\nrules:\n  - condition: "a == \'b\'"\n    effect: include\noff: "no"\n'));
