// What a person and their teams own: what fails first, then what is stale, then what changed last, with its last results.
import { readResults, readRuns, readTests, type Result } from './assets';
import { api, dataOf } from './client';
import { read } from './collections';
import type { Me } from './home';
import type { Marks } from './marks';
import { narrowingOf } from './narrowing';
import { either, type Condition, type Found } from './search';

/**
 * `assets` are those shown; `count` of all, `failing` and `stale` of all. `isIncomplete` where the search, which is
 * built behind the catalogue, knows none of them yet.
 */
export type Owned = {
  assets: readonly Found[];
  count: number;
  failing: number;
  stale: number;
  isIncomplete: boolean;
};

// What people own without its being an asset that the search shows here: tests, and how Tocsin is set up.
const notAssets = [
  'testsuite',
  'testcase',
  'testdefinition',
  'eventsubscription',
  'notificationtemplate',
  'type',
  'policy',
  'role',
  'bot',
  'webhook',
  'user',
  'team',
  'metadataservice',
];
const SHOWN = 4;
const FIELDS = ['id', 'entityType', 'name', 'displayName', 'fullyQualifiedName', 'updatedAt'];

/** Return what a person and their teams own, what fails or is stale before what changed last. */
export async function readOwned(me: Me, marks: Marks): Promise<Owned> {
  const keysOf = (kind: 'incident' | 'stale') =>
    [...marks].filter(([, list]) => list.some((mark) => mark.kind === kind)).map(([key]) => key);
  const [failing, stale, all] = await Promise.all([
    ownedBy(me, keysOf('incident')),
    ownedBy(me, keysOf('stale')),
    ownedBy(me),
  ]);
  const assets = [...failing.assets, ...stale.assets, ...all.assets];
  const distinct = [...new Map(assets.map((asset) => [asset.id, asset])).values()];
  return {
    assets: distinct.slice(0, SHOWN),
    count: all.count,
    failing: failing.count,
    stale: stale.count,
    isIncomplete: !all.count && (await ownsAssets(me)),
  };
}

/** Return whether the catalogue itself knows of assets that a person or their teams own. */
async function ownsAssets(me: Me): Promise<boolean> {
  type Owner = { owns?: { type: string }[] };
  const readings = [
    read<Owner>(`users/${me.id}`, { fields: 'owns' }),
    ...me.teams.map(({ id }) => read<Owner>(`teams/${id}`, { fields: 'owns' })),
  ];
  const owners = await Promise.all(readings.map((each) => each.catch((): Owner => ({}))));
  const isAsset = ({ type }: { type: string }) => !notAssets.includes(type.toLowerCase());
  return owners.some(({ owns }) => owns?.some(isAsset));
}

async function ownedBy(me: Me, keys?: readonly string[]) {
  const conditionsWith = (most: number): Condition[] => [
    { terms: { 'owners.name': [me.name, ...me.teams.map(({ name }) => name)] } },
    { bool: { must_not: [{ terms: { entityType: ['testSuite', 'testCase'] } }] } },
    ...(keys ? [either(keys.slice(0, most))] : []),
  ];
  const { filter } = narrowingOf(conditionsWith, keys?.length ?? 0);
  const query = {
    q: '',
    index: 'all',
    size: SHOWN,
    query_filter: filter,
    sort_field: 'updatedAt',
    sort_order: 'desc' as const,
    include_source_fields: FIELDS,
  };
  const { hits } = await dataOf(api.GET('/api/v1/search/query', { params: { query } }));
  return { assets: hits.hits.map((hit) => hit._source as Found), count: hits.total.value };
}

/** Return the last results of an asset, newest first: of a table its test that fails, or was tested last. */
export async function readLastResults({ entityType, fullyQualifiedName }: Found): Promise<readonly Result[]> {
  if (entityType === 'pipeline') return readRuns(entityType, fullyQualifiedName);
  if (entityType !== 'table') return [];
  const tests = await readTests(entityType, fullyQualifiedName);
  const atMs = (test: (typeof tests)[number]) => test.testCaseResult?.timestamp ?? 0;
  const fails = (test: (typeof tests)[number]) => Number(test.testCaseResult?.testCaseStatus === 'Failed');
  const [first] = tests.toSorted((one, other) => fails(other) - fails(one) || atMs(other) - atMs(one));
  return first?.fullyQualifiedName ? readResults(first.fullyQualifiedName) : [];
}
