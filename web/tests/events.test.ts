import { describe, expect, it, vi } from 'vitest';
import { fits, groupsOf } from '../src/pages/events/facets';
import { alertOfEvent, alertOfFilters } from '../src/pages/events/alert';
import { placeInSql } from '../src/pages/events/sql';
import { api } from '../src/api/client';
import { eventsAround, type ChangeEvent, type Explanation } from '../src/api/events';
import { causesOf, causeTitleOf, headingOf, subjectOf, waysOf, whatOf } from '../src/words/events';
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

it('tests of a table are called by it, and causes at the top have no heading', () => {
  const suite = {
    ...eventOf('1', 0, 'orders'),
    entityType: 'testSuite',
    entityFullyQualifiedName: 'shop.sales.orders.testSuite',
    title: 'orders: test run passed',
  };
  expect([subjectOf(suite), whatOf(suite)]).toEqual(['tests of orders', 'test run passed']);
  const alerts = ['FailedTests', 'Tier1Changes'].map((name) => ({
    ...eventOf(name, 0, name),
    entityType: 'eventsubscription',
    entityId: name,
    entityFullyQualifiedName: name,
  }));
  expect(headingOf({ id: '1', events: alerts })).toBe('');
});

describe('dates', () => {
  it('says how far away a day is, and how long a span', () => {
    const now = new Date(2026, 10, 25, 9, 31).getTime();
    expect(untilOf(new Date(2026, 10, 26, 1).getTime(), now)).toBe('tomorrow');
    expect(untilOf(new Date(2026, 11, 2).getTime(), now)).toBe('in 7 days');
    expect([0.012, 0.6, 44 * 60].map(spanOf)).toEqual(['12 ms', '0.6 s', '44 min']);
  });
});

describe('alerts made of events', () => {
  const event = {
    id: '1',
    eventType: 'entityUpdated',
    entityType: 'table',
    entityId: '2',
    entityFullyQualifiedName: "shop.o'brien",
    timestamp: 0,
  };
  it('ask for the same asset and kind; texts of events stay texts', () => {
    const query = new URL(alertOfEvent(event), 'http://t').searchParams;
    expect(query.get('resources')).toBe('table');
    expect(query.get('condition')).toBe(
      "matchAnyEntityFqn('shop.o''brien') && matchAnyEventType('entityUpdated')",
    );
    const breaking = new URL(alertOfEvent({ ...event, breaking: true }), 'http://t').searchParams;
    expect(breaking.get('condition')).toContain('breaking()');
  });
  it('ask for what the filters leave', () => {
    const address = alertOfFilters({ type: ['table', 'topic'], by: ['ann', 'bob'], effect: ['breaking'] });
    const query = new URL(address, 'http://t').searchParams;
    expect(query.get('resources')).toBe('table,topic');
    expect(query.get('condition')).toBe("(userName == 'ann' || userName == 'bob') && breaking()");
    expect(alertOfFilters({ type: [], by: [], effect: [] })).toBe('/alerts/new');
  });
});

describe('errors of SQL', () => {
  it('are shown at their place', () => {
    const sql = 'SELECT *\nFROM nowhere';
    expect(placeInSql('cannot be found; line 2 pos 5', sql)).toEqual({ before: 'FROM ', rest: 'nowhere' });
    expect(placeInSql('(line 2, pos 5)', sql)).toEqual({ before: 'FROM ', rest: 'nowhere' });
    expect(placeInSql('Line 1, column 8: refused', sql)).toEqual({ before: 'SELECT ', rest: '*' });
    expect(placeInSql('line 9 pos 1', sql)).toBeNull();
    expect(placeInSql('too slow', sql)).toBeNull();
  });
});

it('a facet counts what the other filters leave, and log-ins stand only where they are chosen or found', () => {
  const at = (id: string, more: object) => ({ id, entityId: id, timestamp: 5, entityType: 'table', ...more });
  const events = [
    at('1', { eventType: 'userLogin', userName: 'dana', title: 'dana logged in' }),
    at('2', { eventType: 'entityCreated', userName: 'dana', title: 'orders: created' }),
    at('3', { eventType: 'entityDeleted', userName: 'arjun', title: 'orders: removed', breaking: true }),
    at('4', { eventType: 'entityCreated', userName: 'arjun', title: 'carts: created', timestamp: 1 }),
  ] as ChangeEvent[];
  const chosen = { kind: [] as string[], by: ['dana'], type: [] as string[], effect: [] as string[] };
  const narrowing = { chosen, words: '', since: 2 };
  const listed = (more: object) =>
    events.filter((event) => fits(event, { ...narrowing, ...more })).map(({ id }) => id);
  expect(listed({})).toEqual(['2']);
  expect(listed({ words: 'logged' })).toEqual(['1']);
  expect(listed({ chosen: { ...chosen, kind: ['user login'] } })).toEqual(['1']);
  const [kinds, people] = groupsOf(events, narrowing);
  expect(kinds?.items.map(({ value, count }) => [value, count])).toEqual([
    ['user login', 1],
    ['created', 1],
  ]);
  expect(people?.items.map(({ value, count }) => [value, count])).toEqual([
    ['dana', 1],
    ['arjun', 1],
  ]);
});

it('reads every page of the events of a time', async () => {
  const asked: string[] = [];
  vi.spyOn(api, 'GET').mockImplementation((async (path: string) => {
    const at = asked.push(path);
    const paging = at < 3 ? { after: `${at}` } : {};
    return { data: { data: [eventOf(`${at}`, at, 'orders')], paging }, response: new Response() };
  }) as never);
  expect((await eventsAround('orders', 100_000)).map(({ id }) => id)).toEqual(['1', '2', '3']);
  expect(asked[2]).toContain('after=2');
  vi.restoreAllMocks();
});

it('says why an alert concerned a person, what stopped it, and what is so no longer', () => {
  const way = (sentence: string, hasEnded: boolean, says?: string) => ({
    reason: { kind: 'follower', sentence },
    stoppedBy: says ? { kind: 'muted', says } : null,
    hasEnded,
  });
  const told = (...ways: ReturnType<typeof way>[]) => ({ channel: 'Email', isDue: false, ways });
  const explanation = {
    alerts: [
      { id: 'a', reached: { data: [told(way('fay follows it', true)), told(way('fay follows it', true))] } },
      { id: 'b', reached: { data: [told(way('fay owns it', false, 'fay muted it'))] } },
    ],
  } as unknown as Explanation;
  const followed = { says: 'fay follows it; so it was then, and is no longer', isOpen: true };
  expect(waysOf(explanation, 'a')).toEqual([followed]);
  expect(waysOf(explanation, undefined)).toEqual([
    followed,
    { says: 'fay owns it; fay muted it', isOpen: false },
  ]);
  expect(waysOf(undefined, undefined)).toEqual([]);
});
