import { expect, test } from 'vitest';
import { initialsOf, nameOf, pathOf } from '../src/words/names';
import { clockOf, endingOf, inOwnZone } from '../src/words/dates';
import { testTypeOf } from '../src/words/tests';
import { ago, timeIn } from '../src/words/times';

const MINUTE = 60_000;

test.each([
  ['Dana Whitlock', 'DW'],
  ['dana.whitlock', 'DW'],
  ['AnalyticsEngineering', 'AE'],
  ['admin', 'A'],
  ['Åsa Öberg', 'ÅÖ'],
  ['', '?'],
])('%s is shown as %s', (name, initials) => expect(initialsOf(name)).toBe(initials));

test('a path is what a name lies in', () => {
  expect(pathOf('shop.sales."a.b".orders')).toBe('shop / sales / a.b');
  expect(nameOf('shop.sales."a.b"')).toBe('a.b');
  expect(pathOf(null)).toBe('');
});

test.each([
  [0, 'now'],
  [-5 * MINUTE, 'now'],
  [44 * MINUTE, '44 min'],
  [7 * 60 * MINUTE, '7 h'],
  [25 * 60 * MINUTE, '1 day'],
  [49 * 60 * MINUTE, '2 days'],
])('what happened %d ms ago', (passed, words) => expect(ago(1e12 - passed, 1e12)).toBe(words));

test.each([
  [new Date(2026, 10, 30, 18, 30), '18:30'],
  [new Date(2026, 11, 1, 9, 0), 'tomorrow 09:00'],
  [new Date(2026, 11, 4, 9, 0), 'Fri 4 Dec 09:00'],
  [new Date(2027, 2, 3, 9, 0), '3 Mar 2027'],
])('what ends at %s is short', (end, words) =>
  expect(endingOf(end.getTime(), new Date(2026, 10, 30, 14, 0).getTime())).toBe(words),
);

test.each([
  ['columnValuesToBeNotNull', 'Column values to be not null', 'Values are not null'],
  ['columnValuesToBeUnique', undefined, 'Values are unique'],
  ['columnValuesToNotMatchRegex', undefined, 'Values do not match regex'],
  ['columnValueMaxToBeBetween', 'Column value max to be between', 'Value max is between'],
  ['tableRowCountToEqual', 'Table row count to equal', 'Row count equals'],
  ['tableColumnToMatchSet', 'Table column names to match a set', 'Column names match a set'],
  ['ordersMatchTheShop', 'Orders match the shop', 'Orders match the shop'],
])('the type of test %s is said plainly', (name, displayName, said) => {
  expect(testTypeOf(name, displayName)).toBe(said);
});

test('a time of the day names its zone where that is not the zone of this browser', () => {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  expect(timeIn('09:00', here)).toBe('09:00');
  const winterMs = Date.UTC(2026, 0, 15, 12);
  expect(timeIn('09:00', 'Pacific/Kiritimati', winterMs)).toBe('09:00 Kiritimati time');
  expect(timeIn('09:00', 'America/Argentina/Buenos_Aires', winterMs)).toBe('09:00 Buenos Aires time');
});

test('a moment that the server says in UTC is said in the zone of this browser', () => {
  const atMs = Date.UTC(2026, 11, 14, 12, 30);
  const said = inOwnZone('CR-1 announced: it goes on 2026-12-14 12:30 UTC', atMs);
  expect(said).toBe(`CR-1 announced: it goes on 14 Dec ${clockOf(atMs)}`);
  expect(inOwnZone('by cron 0 8 * * * (UTC)')).toBe('by cron 0 8 * * * (UTC)');
});
