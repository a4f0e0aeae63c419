import { expect, test } from 'vitest';
import { conditionsOf, queryOf, unfinished, type SearchFilters } from '../src/api/search';
import { filtersOf } from '../src/pages/explore/facets';
import { partsOf, wordsOf } from '../src/words/marks';

const none = filtersOf(new URLSearchParams());
const meanings = {
  failing: ['t1'],
  stale: [],
  announced: [],
  breaking: [],
  follow: ['t2'],
  own: ['dana', 'Analytics'],
  sinceMs: 7,
};
const filters = (part: Partial<SearchFilters>): SearchFilters => ({ ...none, type: ['table'], ...part });

test('what is chosen of one facet suffices each, and all facets have to hold', () => {
  const conditions = conditionsOf(filters({ owner: ['dana', '-'], mine: ['own', 'follow'] }), meanings);
  expect(conditions).toEqual([
    { terms: { entityType: ['table'] } },
    { bool: { should: [{ terms: { 'owners.name': ['dana', 'Analytics'] } }, { ids: { values: ['t2'] } }] } },
    {
      bool: {
        should: [
          { terms: { 'owners.name': ['dana'] } },
          { bool: { must_not: [{ exists: { field: 'owners' } }] } },
        ],
      },
    },
  ]);
});

test('a state without assets finds nothing rather than everything', () => {
  expect(conditionsOf(filters({ state: ['announced'] }), meanings)).toContainEqual({
    ids: { values: ['-'] },
  });
});

test('a search is saved as a query, unless a facet means something else each day', () => {
  expect(queryOf(filters({ q: 'a OR b', tier: ['Tier.Tier1'] }))).toBe(
    '(a OR b) type:("table") tier:("Tier.Tier1")',
  );
  expect(queryOf(filters({ q: 'a', type: [] }))).toBe('a');
  expect(queryOf(filters({ state: ['failing'] }))).toBeNull();
  expect(queryOf(filters({ owner: ['-'] }))).toBeNull();
});

test('only a last bare word may be unfinished', () => {
  const typed = [
    'orde',
    'owner:alice orde',
    'tag:PII.Sensitive',
    'service.name:(bi OR airflow',
    'a OR',
    '"big orde"',
  ];
  expect(typed.map(unfinished)).toEqual([
    'orde*',
    'owner:alice orde*',
    'tag:PII.Sensitive',
    'service.name:(bi OR airflow',
    'a OR',
    '"big orde"',
  ]);
});

test('words of a query are marked in texts, signs of patterns are text', () => {
  expect(wordsOf('orders owner:dana (a.b OR "cart id")')).toEqual(['orders', 'cart', 'id']);
  expect(partsOf('Fct_Orders (x)', ['orders'])).toEqual([
    { text: 'Fct_', isMarked: false },
    { text: 'Orders', isMarked: true },
    { text: ' (x)', isMarked: false },
  ]);
});
