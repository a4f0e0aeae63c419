import { afterEach, expect, test, vi } from 'vitest';
import { api } from '../src/api/client';
import { readOwned } from '../src/api/owned';
import { facetNarrowingOf } from '../src/api/search';
import { filtersOf, readCounts } from '../src/pages/explore/facets';

afterEach(() => vi.restoreAllMocks());

const none = filtersOf(new URLSearchParams());
const ids = (count: number) => Array.from({ length: count }, () => crypto.randomUUID());
const meanings = { failing: [], stale: [], announced: [], breaking: [], follow: [], own: [], sinceMs: 7 };
type Asking = { params: { query: { query_filter?: string; index?: string } } };
const LONGEST = 20_000;

test('more ids than a search takes are cut, and the counts say that there are more', async () => {
  const many = { ...meanings, breaking: ids(2_000), follow: ids(3) };
  vi.spyOn(api, 'GET').mockImplementation((async (_path: string, asking: Asking) => {
    const filter = asking.params.query.query_filter ?? '';
    expect(filter.length).toBeLessThanOrEqual(LONGEST);
    const value = (filter.match(/[0-9a-f-]{36}/g) ?? []).length;
    return { data: { hits: { total: { value } } }, response: new Response() };
  }) as never);
  const counts = await readCounts(none, many, []);
  expect(counts['mine:follow']).toEqual({ count: 3, isMore: false });
  expect(counts['state:breaking']?.isMore).toBe(true);
  expect(counts['state:breaking']?.count).toBeGreaterThan(300);
  expect(facetNarrowingOf({ ...none, state: ['breaking'] }, many).isCut).toBe(true);
  expect(facetNarrowingOf(none, many).isCut).toBe(false);
});

test('a count that cannot be read hides no other', async () => {
  vi.spyOn(api, 'GET').mockImplementation((async (_path: string, asking: Asking) => {
    if (asking.params.query.query_filter?.includes('updatedAt')) throw new Error('no answer');
    return { data: { hits: { total: { value: 4 } } }, response: new Response() };
  }) as never);
  const counts = await readCounts(none, meanings, []);
  expect(counts['state:recent']).toBeUndefined();
  expect(counts['state:failing']).toEqual({ count: 4, isMore: false });
});

test.each([
  ['eventsubscription', false],
  ['testCase', false],
  ['table', true],
])('a person who owns only a %s waits for the search: %s', async (type, waits) => {
  const filters: string[] = [];
  vi.spyOn(api, 'GET').mockImplementation((async (path: string, asking?: Asking) => {
    if (path.includes('users/')) return { data: { owns: [{ type }] }, response: new Response() };
    filters.push(asking?.params.query.query_filter ?? '');
    return { data: { hits: { hits: [], total: { value: 0 } } }, response: new Response() };
  }) as never);
  const marks = new Map(
    ids(2_000).map((id) => [id, [{ kind: 'incident' as const, name: 'I', text: 'fails' }]]),
  );
  expect((await readOwned({ id: 'me', name: 'dana', teams: [] }, marks)).isIncomplete).toBe(waits);
  expect(Math.max(...filters.map(({ length }) => length))).toBeLessThanOrEqual(LONGEST);
});
