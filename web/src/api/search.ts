// Search: assets by words and facets, their counts, and saved searches. Filters of the address become a search here.
import { api, ApiError, dataOf } from './client';
import { narrowingOf, type Narrowing } from './narrowing';
import type { components } from './schema';

type Schemas = components['schemas'];
export type SavedSearch = Schemas['SavedSearches']['data'][number];
type Reference = {
  id: string;
  type: string;
  name?: string;
  fullyQualifiedName?: string;
  displayName?: string;
};

/** What a row of the results shows of an asset. */
export type Found = {
  id: string;
  entityType: string;
  name: string;
  displayName?: string;
  fullyQualifiedName: string;
  description?: string;
  owners?: Reference[];
  tier?: { tagFQN: string };
  deleted?: boolean;
  updatedAt?: number;
};

export const facetKeys = ['type', 'state', 'mine', 'service', 'owner', 'tier', 'domain'] as const;
export type FacetKey = (typeof facetKeys)[number];
export type SearchFilters = { q: string } & Record<FacetKey, readonly string[]>;

/** What the facets "state" and "mine" mean now: ids or full names of assets, and names of owners. */
export type Meanings = {
  failing: readonly string[];
  stale: readonly string[];
  announced: readonly string[];
  breaking: readonly string[];
  follow: readonly string[];
  own: readonly string[];
  sinceMs: number;
};

export const NOBODY = '-';
const INDEX = 'all,user,team';
const PAGE = 20;
const MOST_NEAR = 3;
const MOST_TAGS = 20;
const SHOWN = [
  'id',
  'entityType',
  'name',
  'displayName',
  'fullyQualifiedName',
  'description',
  'owners',
  'tier',
  'deleted',
  'updatedAt',
];

export type Condition = Record<string, unknown>;
const terms = (field: string, values: readonly string[]): Condition => ({ terms: { [field]: values } });
const ids = (values: readonly string[]): Condition => ({ ids: { values: values.length ? values : ['-'] } });
/** Return the condition that an asset is one of these, by id or by full name. */
export const either = (values: readonly string[]): Condition => ({
  bool: { should: [ids(values), terms('fullyQualifiedName', values.length ? values : ['-'])] },
});
const not = (condition: Condition): Condition => ({ bool: { must_not: [condition] } });
const without = (field: string): Condition => not({ exists: { field } });

// People, teams and tests have no owners of their own who would be told.
const nobody = (): Condition => ({
  bool: { filter: [without('owners'), not(terms('entityType', ['user', 'team', 'testCase', 'testSuite']))] },
});

/** Return the conditions of facets, each a list of which one suffices; all of them have to hold. */
export function conditionsOf(filters: SearchFilters, meanings: Meanings): Condition[] {
  const states: Record<string, Condition> = {
    failing: either(meanings.failing),
    stale: either(meanings.stale),
    nobody: nobody(),
    announced: ids(meanings.announced),
    breaking: ids(meanings.breaking),
    recent: { range: { updatedAt: { gte: meanings.sinceMs } } },
  };
  const mine: Record<string, Condition> = {
    own: terms('owners.name', meanings.own),
    follow: ids(meanings.follow),
  };
  const choices: Record<FacetKey, Condition[]> = {
    type: filters.type.length
      ? [terms('entityType', filters.type)]
      : [not(terms('entityType', ['testSuite']))],
    state: filters.state.flatMap((state) => (states[state] ? [states[state]] : [])),
    mine: filters.mine.flatMap((state) => (mine[state] ? [mine[state]] : [])),
    service: filters.service.length ? [terms('service.name', filters.service)] : [],
    owner: filters.owner.map((name) => (name === NOBODY ? without('owners') : terms('owners.name', [name]))),
    tier: filters.tier.length ? [terms('tier.tagFQN', filters.tier)] : [],
    domain: filters.domain.length ? [terms('domains.fullyQualifiedName', filters.domain)] : [],
  };
  return facetKeys
    .map((key) => choices[key])
    .filter((options) => options.length)
    .map((options) => (options.length > 1 ? { bool: { should: options } } : options[0]!));
}

/** Return filters as a query that can be saved; null where a facet means assets by their ids. */
export function queryOf(filters: SearchFilters): string | null {
  if (filters.state.some((state) => state !== 'removed') || filters.mine.length) return null;
  if (filters.state.length || filters.owner.includes(NOBODY)) return null;
  const quoted = (values: readonly string[]) => values.map((value) => `"${value.replaceAll('"', '\\"')}"`);
  const parts = (['type', 'service', 'owner', 'tier', 'domain'] as const)
    .filter((key) => filters[key].length)
    .map((key) => `${key}:(${quoted(filters[key]).join(' OR ')})`);
  return [filters.q.trim() && parts.length ? `(${filters.q.trim()})` : filters.q.trim(), ...parts]
    .filter(Boolean)
    .join(' ');
}

type Sorting = { key: string; isDescending: boolean };
const idKeys = ['failing', 'stale', 'announced', 'breaking', 'follow'] as const;

/** Return the filter of facets; its ids are cut where they are too many for one search. */
export function facetNarrowingOf(filters: SearchFilters, meanings: Meanings): Narrowing {
  const cutTo = (most: number) =>
    Object.fromEntries(idKeys.map((key) => [key, meanings[key].slice(0, most)] as const));
  const longest = Math.max(...idKeys.map((key) => meanings[key].length));
  return narrowingOf((most) => conditionsOf(filters, { ...meanings, ...cutTo(most) }), longest);
}

function queryParameters(filters: SearchFilters, meanings: Meanings) {
  const { filter } = facetNarrowingOf(filters, meanings);
  return {
    q: unfinished(filters.q),
    index: INDEX,
    deleted: filters.state.includes('removed'),
    ...(filter ? { query_filter: filter } : {}),
  };
}

/** Let the last bare word be the beginning of one: `orde` finds orders while it is typed. */
export function unfinished(q: string): string {
  const isWhole = q.split('(').length === q.split(')').length && q.split('"').length % 2 === 1;
  return isWhole && /(^|\s)[\p{L}\p{N}_]{2,}$/u.test(q) && !/(AND|OR|NOT)$/.test(q) ? `${q}*` : q;
}

/** Return a page of what is found; `after` is the `sort` of the last one before it. */
export async function search(
  filters: SearchFilters,
  meanings: Meanings,
  { after = [], sorting }: { after?: readonly unknown[]; sorting?: Sorting | undefined } = {},
) {
  const query = {
    ...queryParameters(filters, meanings),
    size: PAGE,
    include_source_fields: SHOWN,
    ...(sorting
      ? { sort_field: sorting.key, sort_order: sorting.isDescending ? ('desc' as const) : ('asc' as const) }
      : {}),
    ...(after.length ? { search_after: after.map(String) } : {}),
  };
  const answer = await dataOf(api.GET('/api/v1/search/query', { params: { query } }));
  const { hits } = answer;
  return {
    rows: hits.hits.map((hit) => hit._source as Found),
    total: hits.total,
    tookMs: answer.took,
    after: hits.hits.length === PAGE ? (hits.hits.at(-1)?.sort ?? []) : [],
  };
}

/** Return how many assets filters leave. */
export async function countOf(filters: SearchFilters, meanings: Meanings): Promise<number> {
  const query = { ...queryParameters(filters, meanings), size: 0 };
  return (await dataOf(api.GET('/api/v1/search/query', { params: { query } }))).hits.total.value;
}

/** Return the assets whose names are nearest to a word, where none begins with it. */
export async function nearestTo(q: string): Promise<readonly Found[]> {
  const query = { q, index: INDEX, size: MOST_NEAR };
  const answer = await dataOf(api.GET('/api/v1/search/suggest', { params: { query } }));
  return (answer.suggest['metadata-suggest'] ?? []).flatMap(({ options }) =>
    options.map((option) => option._source as Found),
  );
}

/** Return the full names of the tags of a classification; none of a name that is no classification. */
export async function tagsOf(classification: string): Promise<readonly string[]> {
  const query = { parent: classification, limit: MOST_TAGS };
  const page = (await dataOf(api.GET('/api/v1/tags', { params: { query } }))) as {
    data: readonly { fullyQualifiedName?: string }[];
  };
  return page.data.flatMap(({ fullyQualifiedName }) => fullyQualifiedName ?? []);
}

export type Buckets = readonly { value: string; count: number }[];

/** Return the counts by type, service and tier of what filters leave. */
export async function bucketsOf(
  filters: SearchFilters,
  meanings: Meanings,
): Promise<{ type: Buckets; service: Buckets; tier: Buckets }> {
  const query = { ...queryParameters(filters, meanings), size: 0, include_aggregations: true };
  const answer = (await dataOf(api.GET('/api/v1/search/query', { params: { query } }))) as {
    aggregations?: Record<string, { buckets: { key: unknown; doc_count: number }[] }>;
  };
  const of = (field: string) =>
    (answer.aggregations?.[`sterms#${field}`]?.buckets ?? []).map(({ key, doc_count }) => ({
      value: String(key),
      count: doc_count,
    }));
  return { type: of('entityType'), service: of('service.name'), tier: of('tier.tagFQN') };
}

/** Return the ids of the assets that a person follows. */
export async function followedIds(userId: string): Promise<readonly string[]> {
  const params = { path: { user_id: userId } };
  const byType = await dataOf(api.GET('/api/v1/users/{user_id}/follows', { params }));
  return Object.values(byType as Record<string, Reference[]>)
    .flat()
    .map(({ id }) => id);
}

/** Return one's saved searches, by name. */
export async function savedSearches(userId: string): Promise<readonly SavedSearch[]> {
  const params = { path: { user_id: userId } };
  return (await dataOf(api.GET('/api/v1/users/{user_id}/searches', { params }))).data;
}

/** Save a search; with `follows` one is told of changes of what it finds. */
export async function saveSearch(userId: string, name: string, query: string, follows: boolean) {
  const params = { path: { user_id: userId } };
  const body = { name, query, index: 'all', follows };
  return dataOf(api.POST('/api/v1/users/{user_id}/searches', { params, body }));
}

/** Return a saved search, also that of another person whose address was shared. */
export const savedSearch = (id: string) =>
  dataOf(api.GET('/api/v1/searches/{search_id}', { params: { path: { search_id: id } } }));

/** Follow a saved search, or no longer. */
export const followSearch = (id: string, follows: boolean) =>
  dataOf(
    api.PUT('/api/v1/searches/{search_id}/follow', {
      params: { path: { search_id: id } },
      body: { follows },
    }),
  );

/** Delete a saved search. */
export const deleteSearch = (id: string) =>
  dataOf(api.DELETE('/api/v1/searches/{search_id}', { params: { path: { search_id: id } } }));

/** Return whether an error says that the query is wrong. */
export const isWrongQuery = (error: unknown): boolean => error instanceof ApiError && error.status === 400;

/** Return how many tests there are, and how many of them nobody owns. */
export async function countTests(): Promise<{ count: number; unowned: number }> {
  const tests = terms('entityType', ['testCase']);
  const [count, unowned] = await Promise.all(
    [[tests], [tests, without('owners')]].map(async (conditions) => {
      const query = {
        q: '',
        index: INDEX,
        size: 0,
        query_filter: JSON.stringify({ bool: { filter: conditions } }),
      };
      return (await dataOf(api.GET('/api/v1/search/query', { params: { query } }))).hits.total.value;
    }),
  );
  return { count: count!, unowned: unowned! };
}
