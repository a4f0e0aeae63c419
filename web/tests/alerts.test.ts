import { expect, test } from 'vitest';
import { conditionOfRules, plain, sentenceOf } from '../src/words/alerts';
import { healthOf } from '../src/words/health';
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

test('an alert is silent only once it is there for the thirty days that are counted', () => {
  const nowMs = Date.UTC(2026, 10, 30);
  const bornAt = (ms: number) => {
    const hex = ms.toString(16).padStart(12, '0');
    return { ...alert, id: `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000` } as never;
  };
  expect(healthOf(bornAt(Date.UTC(2026, 9, 1)), undefined, nowMs)).toMatchObject({
    ills: ['silent'],
    text: 'silent for 30 days',
  });
  expect(healthOf(bornAt(Date.UTC(2026, 10, 29, 12)), undefined, nowMs)).toMatchObject({
    ills: [],
    text: expect.stringMatching(/^nothing to tell since it was made, 29 Nov/),
  });
});
