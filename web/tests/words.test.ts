import { expect, test } from 'vitest';
import { initialsOf, nameOf, pathOf } from '../src/words/names';
import { endingOf } from '../src/words/dates';
import { ago } from '../src/words/times';

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
