import { expect, test } from 'vitest';
import type { Effective } from '../src/api/preferences';
import { cellOf, groupsOf, withChoice } from '../src/pages/settings/rows';

const cell = (frequency: string, from = 'nobody') => ({
  Email: { frequency, from },
  ActivityFeed: { frequency, from },
});
const kind = (name: string, group: string, frequency: string, roles = {}) => ({
  kind: name,
  label: name,
  group,
  hasEvents: true,
  isMandatory: name === 'task',
  channels: cell(frequency),
  roles,
});
const effective = {
  timezone: 'UTC',
  digestAt: '09:00',
  digestDay: 'friday',
  kinds: [
    kind('testFailure', 'quality', 'daily', { owned: cell('immediate', 'own') }),
    kind('tag', 'metadata', 'daily'),
    kind('tier', 'governance', 'immediate'),
    kind('task', 'conversation', 'immediate'),
    kind('vote', 'activity', 'never'),
  ],
} as unknown as Effective;
const rows = groupsOf(effective.kinds, false).flatMap((group) => group.rows);
const row = (key: string) => rows.find((each) => each.key === key)!;

test('what I own has a row of its own, apart from what I follow', () => {
  expect(cellOf(effective, row('ownFailures'), 'Email')?.value).toBe('immediate');
  expect(cellOf(effective, row('failures'), 'Email')?.value).toBe('daily');
});

test('kinds that come at different times are mixed, and every other kind is in the last row', () => {
  expect(cellOf(effective, row('tags'), 'Email')).toMatchObject({ value: 'mixed', tone: 'later' });
  expect(row('others').kinds).toEqual(['vote']);
  expect(cellOf(effective, row('tasks'), 'Email')?.isLocked).toBe(true);
});

test('a choice is of its channel alone, for all kinds of its row, and goes back to what others chose', () => {
  const before = { kinds: { tag: { ActivityFeed: 'never' } } };
  const chosen = withChoice(before, row('tags'), 'Email', 'never');
  expect(chosen.kinds?.tag).toEqual({ ActivityFeed: 'never', Email: 'never' });
  expect(chosen.kinds?.tier).toEqual({ Email: 'never' });
  expect(withChoice(chosen, row('tags'), 'Email', 'default').kinds).toEqual({
    tag: { ActivityFeed: 'never' },
  });
  const owned = withChoice({}, row('ownBreaking'), 'Email', 'daily');
  expect(owned.roles).toEqual({
    owned: { breaking: { Email: 'daily' } },
    aboveOwned: { breaking: { Email: 'daily' } },
  });
  expect(withChoice(owned, row('ownBreaking'), 'Email', 'default').roles).toEqual({});
});
