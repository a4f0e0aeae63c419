// The facets of the search: what they are called, and their counts, each without its own choice.
import {
  bucketsOf,
  countOf,
  facetKeys,
  facetNarrowingOf,
  NOBODY,
  type Buckets,
  type FacetKey,
  type Found,
  type Meanings,
  type SearchFilters,
} from '../../api/search';
import { displayNameOf } from '../../api/people.svelte';
import type { FacetGroup, FacetItem } from '../../components/Facets.svelte';
import { personCalled } from '../../words/references';
import { pluralOf } from '../../words/types';

const MOST_OWNERS = 6;

const states: readonly FacetItem[] = [
  { value: 'failing', label: 'failing', tone: 'danger' },
  { value: 'stale', label: 'stale, below what fails', tone: 'warn' },
  { value: 'breaking', label: 'changed, breaking', tone: 'warn' },
  { value: 'announced', label: 'change announced' },
  { value: 'recent', label: 'changed this week' },
  { value: 'nobody', label: 'nobody would be told' },
  { value: 'removed', label: 'removed' },
];
const mine: readonly FacetItem[] = [
  { value: 'own', label: 'I own' },
  { value: 'follow', label: 'I follow' },
];

/** Return the filters that an address holds. */
export function filtersOf(query: URLSearchParams): SearchFilters {
  const listed = (key: FacetKey) =>
    query
      .getAll(key)
      .flatMap((values) => values.split(','))
      .filter(Boolean);
  const filters = Object.fromEntries(facetKeys.map((key) => [key, listed(key)]));
  return { q: query.get('q') ?? '', ...filters } as SearchFilters;
}

/** Return the owners of what is shown, the most frequent first, with those that are chosen. */
export function ownersOf(rows: readonly Found[], chosen: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { name } of rows.flatMap(({ owners }) => owners ?? []))
    if (name) counts.set(name, (counts.get(name) ?? 0) + 1);
  const frequent = [...counts].sort((one, other) => other[1] - one[1]).map(([name]) => name);
  return [...new Set([...chosen.filter((name) => name !== NOBODY), ...frequent])].slice(0, MOST_OWNERS);
}

/** Return what an owner is called whose name is known: a person's or team's display name. */
const ownerCalled = (name: string): string => displayNameOf(name, 'team') ?? personCalled(name);

/** Return the counts of types, services and tiers, each as if nothing were chosen of it. */
export async function readBuckets(filters: SearchFilters, meanings: Meanings) {
  const [type, service, tier] = await Promise.all(
    (['type', 'service', 'tier'] as const).map((key) => bucketsOf({ ...filters, [key]: [] }, meanings)),
  );
  return { type: type!.type, service: service!.service, tier: tier!.tier };
}
type AllBuckets = Awaited<ReturnType<typeof readBuckets>>;

/** How many assets a facet leaves; `isMore` where too many are meant for one search to count them all. */
export type Count = { count: number; isMore: boolean };

/** Return the counts of states, of mine, and of owners: `state:failing` to its number; none that cannot be read. */
export async function readCounts(
  filters: SearchFilters,
  meanings: Meanings,
  owners: readonly string[],
): Promise<Readonly<Record<string, Count>>> {
  const choices: [FacetKey, string][] = [
    ...states.map(({ value }): [FacetKey, string] => ['state', value]),
    ...mine.map(({ value }): [FacetKey, string] => ['mine', value]),
    ...[...owners, NOBODY].map((name): [FacetKey, string] => ['owner', name]),
  ];
  const counted = choices.map(async ([key, value]) => {
    const chosen = { ...filters, [key]: [value] };
    const count = await countOf(chosen, meanings);
    return [`${key}:${value}`, { count, isMore: facetNarrowingOf(chosen, meanings).isCut }] as const;
  });
  const settled = await Promise.allSettled(counted);
  return Object.fromEntries(settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])));
}

/** Return the groups of facets, as far as their counts are known. */
export function groupsOf(
  filters: SearchFilters,
  buckets: AllBuckets | undefined,
  counts: Readonly<Record<string, Count>> | undefined,
  owners: readonly string[],
): FacetGroup[] {
  const counted = (key: FacetKey, items: readonly FacetItem[]) =>
    items.map((item) => ({ ...item, ...counts?.[`${key}:${item.value}`] }));
  const ownerItems = [
    ...owners.map((value) => ({ value, label: ownerCalled(value) })),
    { value: NOBODY, label: 'nobody', tone: 'warn' as const },
  ];
  const most = (one: FacetItem, other: FacetItem) =>
    Number(one.value === NOBODY) - Number(other.value === NOBODY) || (other.count ?? 0) - (one.count ?? 0);
  return [
    { key: 'type', title: 'Type', items: bucketItems(buckets?.type, filters.type, pluralOf) },
    { key: 'state', title: 'State', items: counted('state', states) },
    { key: 'mine', title: 'Mine', items: counted('mine', mine) },
    { key: 'service', title: 'Service', items: bucketItems(buckets?.service, filters.service, String) },
    { key: 'owner', title: 'Owner', items: counted('owner', ownerItems).sort(most) },
    { key: 'tier', title: 'Tier', items: bucketItems(buckets?.tier, filters.tier, tierName) },
    { key: 'domain', title: 'Domain', items: filters.domain.map((value) => ({ value, label: value })) },
  ];
}

/** Return what people call a tier: `Tier 1` of `Tier.Tier1`. */
export const tierName = (tag: string): string =>
  tag.replace(/^Tier\./, '').replace(/([A-Za-z])(\d)/, '$1 $2');

function bucketItems(
  buckets: Buckets | undefined,
  chosen: readonly string[],
  name: (value: string) => string,
) {
  const missing = chosen.filter((value) => !buckets?.some((bucket) => bucket.value === value));
  const items = [...(buckets ?? []), ...missing.map((value) => ({ value, count: 0 }))];
  const isOrdered = name === tierName;
  if (isOrdered) items.sort((one, other) => one.value.localeCompare(other.value));
  return items.map(({ value, count }) => ({ value, label: name(value), count }));
}

/** Return whether people can follow an asset of its own: tests are followed with what they test. */
export const canBeFollowed = ({ entityType }: Found): boolean =>
  entityType !== 'testCase' && entityType !== 'testSuite';
