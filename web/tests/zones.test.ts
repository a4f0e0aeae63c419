import { expect, test } from 'vitest';
import { fieldDayOf, zoneAt } from '../src/words/dates';

test('a day of a field is the day here, not the one in UTC', () => {
  const lateInTheEvening = new Date(2026, 11, 14, 23, 30).getTime();
  expect(fieldDayOf(lateInTheEvening)).toBe('2026-12-14');
  expect(fieldDayOf(new Date(2026, 11, 14, 0, 30).getTime())).toBe('2026-12-14');
});

test('a zone is called as it is at the time', () => {
  expect(zoneAt(Date.UTC(2026, 11, 14))).toMatch(/^[A-Z]{2,5}([+-]\d+(:\d\d)?)?$/);
});
