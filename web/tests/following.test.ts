import { expect, test } from 'vitest';
import type { Followed, Summary } from '../src/api/follows';
import type { Month } from '../src/api/preferences';
import { isNoisy, isStale, sentenceOf } from '../src/pages/following/reviewed';
import { countOfRow, differenceOf, totalOf } from '../src/pages/settings/month';
import { kindsOf, rhythmOf, withFrequency } from '../src/words/rhythms';

const NOW = 1_764_500_000_000;
const DAY = 86_400_000;
const follow = (fields: object) =>
  ({
    asset: { type: 'table' },
    tie: 'asset',
    lastChange: { timestamp: NOW - 200 * DAY },
    told: { count: 0, unread: 0 },
    ...fields,
  }) as unknown as Followed;

test('a follow is noisy while nothing of it is read, and stale after half a year of silence', () => {
  expect(isNoisy(follow({ told: { count: 10, unread: 10 } }))).toBe(true);
  expect(isNoisy(follow({ told: { count: 10, unread: 9 } }))).toBe(false);
  expect(isStale(follow({}), NOW)).toBe(true);
  expect(isStale(follow({ told: { count: 1, unread: 0, last: NOW } }), NOW)).toBe(false);
  expect(isStale(follow({ tie: 'container' }), NOW)).toBe(false);
});

test('what is followed is said in numbers, with how much of it is opened', () => {
  const summary = { types: { tag: 1, table: 8 }, month: { told: 36, opened: 15 } } as unknown as Summary;
  expect(sentenceOf(summary)).toBe('8 tables, 1 tag · about 8 messages a week, 4 of 10 opened');
  expect(sentenceOf({ ...summary, month: { told: 0, opened: 0 } })).toContain('nothing told in 30 days');
});

test('a choice for one kind and channel leaves the others, and an empty one takes it back', () => {
  const chosen = withFrequency({ channels: { Email: 'never' } }, 'columns', 'Email', 'daily');
  expect(chosen).toEqual({ channels: { Email: 'never' }, kinds: { columns: { Email: 'daily' } } });
  expect([kindsOf(chosen, (kind) => kind), rhythmOf(chosen)]).toEqual([['columns'], ['e-mail daily']]);
  expect(withFrequency(chosen, 'columns', 'Email', '')).toEqual({ channels: { Email: 'never' }, kinds: {} });
  expect(withFrequency(chosen, null, 'Email', '').channels).toEqual({});
});

const channel = (atOnceCount: number, digestCount: number, inDigestsCount: number, neverCount = 0) => ({
  atOnceCount,
  digestCount,
  inDigestsCount,
  neverCount,
});
const month = (Email: object) =>
  ({
    channels: { ActivityFeed: channel(5, 0, 0), Email },
    kinds: { testFailure: { all: 4, owned: 3, followed: 2 }, tag: { all: 2 } },
  }) as unknown as Month;

test('channels are summed, and a change of settings is said with what it changed', () => {
  const [before, after] = [month(channel(20, 1, 2)), month(channel(1, 3, 20, 1))];
  expect(totalOf(before)).toEqual(channel(25, 1, 2));
  expect(differenceOf(before, after)).toBe('19 fewer at once, 2 more digests, 1 more not told');
  expect(differenceOf(before, month(channel(19, 2, 3)))).toBe('1 fewer at once, 1 more digest');
  expect(differenceOf(after, after)).toContain('nothing of these 30 days');
  const row = { key: 'own', label: 'Own', kinds: ['testFailure', 'tag'] };
  expect(countOfRow(before, row)).toBe(6);
  expect(countOfRow(before, { ...row, roles: ['owned', 'aboveOwned'] })).toBe(3);
});
