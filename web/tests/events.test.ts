import { describe, expect, it } from 'vitest';
import type { ChangeEvent } from '../src/api/events';
import { causesOf, causeTitleOf, headingOf, whatOf } from '../src/words/events';
import { spanOf, untilOf } from '../src/words/dates';

const eventOf = (id: string, atMs: number, name: string, userName = 'priya'): ChangeEvent => ({
  id,
  eventType: 'entityUpdated',
  entityType: 'table',
  entityId: name,
  entityFullyQualifiedName: `shop.sales.${name}`,
  userName,
  timestamp: atMs,
  title: `${name}: description changed`,
});

describe('causes of events', () => {
  it("gathers one person's changes of neighbours within an hour", () => {
    const minute = 60_000;
    const events = [
      eventOf('4', 200 * minute, 'orders'),
      eventOf('3', 199 * minute, 'returns', 'owen'),
      eventOf('2', 190 * minute, 'carts'),
      eventOf('1', 10 * minute, 'orders'),
    ];
    const causes = causesOf(events);
    expect(causes.map((cause) => cause.events.map(({ id }) => id))).toEqual([['4', '2'], ['3'], ['1']]);
    expect(causeTitleOf(causes[0]!)).toBe('2 events of 2 tables');
    expect(headingOf(causes[0]!)).toBe('sales');
    expect(whatOf(events[0]!)).toBe('description changed');
  });
});

describe('dates', () => {
  it('says how far away a day is, and how long a span', () => {
    const now = new Date(2026, 10, 25, 9, 31).getTime();
    expect(untilOf(new Date(2026, 10, 26, 1).getTime(), now)).toBe('tomorrow');
    expect(untilOf(new Date(2026, 11, 2).getTime(), now)).toBe('in 7 days');
    expect([0.012, 0.6, 44 * 60].map(spanOf)).toEqual(['12 ms', '0.6 s', '44 min']);
  });
});
