import { expect, test } from 'vitest';
import { conditionOfRules, plain, sentenceOf } from '../src/words/alerts';
import { actedShare, healthOf, overlapOf } from '../src/words/health';
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

const newest = (events: number, toldByOthers: number, names: string[]) => ({
  id: 'a',
  name: 'A',
  noise: 0,
  notified: events,
  notifiedInApp: events,
  fired: events,
  newest: {
    events,
    actedOn: 3,
    toldByOthers,
    otherAlerts: names.length,
    others: names.map((name) => ({ id: name, name, displayName: null, events: toldByOthers })),
  },
});

test('an alert overlaps if others sent at least half of what it told of', () => {
  const one = { ...alert, id: '019ac000-0000-7000-8000-000000000000' } as never;
  expect(healthOf(one, newest(10, 5, ['B']), Date.now()).ills).toContain('overlapping');
  expect(healthOf(one, newest(10, 4, ['B']), Date.now()).ills).not.toContain('overlapping');
  expect(healthOf(one, newest(4, 4, ['B']), Date.now()).ills).not.toContain('overlapping');
});

test('an overlap names the other alert, or says how many there are', () => {
  expect(overlapOf(newest(92, 48, ['B']))?.text).toBe('48 of 92 sent by B too');
  expect(overlapOf(newest(92, 48, ['B', 'C']))).toEqual({
    text: '48 of 92 sent by 2 others too',
    names: ['B', 'C'],
  });
  expect(overlapOf(newest(92, 0, []))).toBeNull();
});

test('a share acted on is known where people can act', () => {
  expect(actedShare(newest(12, 0, []))).toBe(0.25);
  const mailed = newest(12, 0, []);
  expect(actedShare({ ...mailed, notifiedInApp: 0, newest: { ...mailed.newest, actedOn: 0 } })).toBeNull();
  expect(actedShare(undefined)).toBeNull();
});
