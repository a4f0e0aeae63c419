import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { audiencePages, type Audience } from '../src/api/audience';
import { api } from '../src/api/client';
import { displayNameOf, forgetPeople } from '../src/api/people.svelte';
import { session } from '../src/api/session.svelte';
import { ownAnswersOf } from '../src/words/changes';
import { calledOf, personCalled } from '../src/words/references';

const people = [
  { name: 'admin', displayName: 'Administrator', entityType: 'user' },
  { name: 'Shop', displayName: 'Shop Engineering', entityType: 'team' },
];
const asked: string[] = [];
type Asking = { params: { query: { q: string } } };

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(api, 'GET').mockImplementation((async (_path: string, asking: Asking) => {
    asked.push(asking.params.query.q);
    return { data: { hits: { hits: people.map((_source) => ({ _source })) } }, response: new Response() };
  }) as never);
  session.state = 'open';
});
afterEach(() => {
  forgetPeople();
  asked.length = 0;
  session.state = 'none';
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test('a person has one name everywhere: log-in names are looked up together, once', async () => {
  expect([personCalled('admin'), personCalled('priya.raman'), personCalled('system')]).toEqual([
    'admin',
    'Priya Raman',
    'Tocsin',
  ]);
  expect(calledOf({ type: 'team', name: 'Shop' })).toBe('Shop');
  await vi.runAllTimersAsync();
  expect(asked).toEqual(['name.keyword:("admin" OR "priya.raman" OR "Shop")']);
  expect(personCalled('admin')).toBe('Administrator');
  expect(calledOf({ type: 'user', name: 'admin' })).toBe('Administrator');
  expect(calledOf({ type: 'team', name: 'Shop' })).toBe('Shop Engineering');
  await vi.runAllTimersAsync();
  expect(asked).toHaveLength(1);
});

test('a name is a text in the query, and who comes next in this browser sees no name read before', async () => {
  displayNameOf('a" OR *');
  displayNameOf('admin');
  await vi.runAllTimersAsync();
  expect(asked).toEqual(['name.keyword:("a\\" OR *" OR "admin")']);
  forgetPeople();
  session.state = 'none';
  expect(displayNameOf('admin')).toBeUndefined();
});

test('a look-up that was under way when another person came tells that person nothing', async () => {
  let answer: (value: unknown) => void = () => undefined;
  vi.spyOn(api, 'GET').mockImplementation((() => new Promise((resolve) => (answer = resolve))) as never);
  displayNameOf('admin');
  await vi.advanceTimersByTimeAsync(30);
  forgetPeople();
  displayNameOf('admin'); // of the other person, who may not see it
  answer({ data: { hits: { hits: people.map((_source) => ({ _source })) } }, response: new Response() });
  await Promise.resolve();
  await vi.advanceTimersByTimeAsync(1);
  expect(displayNameOf('admin')).toBeUndefined();
});

test('who was told is read on, page by page, to its end', () => {
  const page = (count: number): Audience =>
    ({ data: Array.from({ length: count }, () => ({})), paging: { total: 45 } }) as unknown as Audience;
  const { getNextPageParam } = audiencePages('event');
  expect(getNextPageParam(page(20), [page(20)])).toBe(20);
  expect(getNextPageParam(page(25), [page(20), page(25)])).toBeUndefined();
  expect(getNextPageParam(page(0), [page(20), page(0)])).toBeUndefined();
});

test('what I answered is said once all of it is known', () => {
  const answered = (answer: 'ready' | 'objects') => ({
    answer: { answer, timestamp: 1, user: { id: 'u', type: 'user' } },
  });
  expect(ownAnswersOf([answered('ready'), answered('ready')], 2)).toBe(': ready');
  expect(ownAnswersOf([answered('ready'), answered('objects')], 2)).toBe(': 1 ready, 1 objects');
  expect(ownAnswersOf([answered('ready'), { answer: null }], 2)).toBe('');
  expect(ownAnswersOf([answered('ready')], 2)).toBe('');
});
