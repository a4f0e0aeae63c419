// What a search of Explore finds: its rows, page by page, how many there are, its facets, and the states of assets.
import { createInfiniteQuery, createQuery, keepPreviousData } from '@tanstack/svelte-query';
import { breakingSince, readBreaking } from '../../api/breaking';
import { api, dataOf } from '../../api/client';
import { readMarks, type Mark } from '../../api/marks';
import * as searches from '../../api/search';
import type { Sorting } from '../../components/DataTable.svelte';
import { groupsOf, ownersOf, readBuckets, readCounts } from './facets';

export type Wanted = { filters: searches.SearchFilters; sorting: Sorting | undefined };

/** Return the search for what `wantedOf` wants; called once while a component begins. */
export function searchOf(userId: string, wantedOf: () => Wanted) {
  const filters = $derived(wantedOf().filters);
  const sorting = $derived(wantedOf().sorting);
  const sinceMs = breakingSince();
  // Without words nothing fits better than another: what changed last comes first, not people by their names.
  const newestFirst = $derived(
    filters.q || filters.type.length ? undefined : { key: 'updatedAt', isDescending: true },
  );
  const me = createQuery(() => ({
    queryKey: ['person', 'teams'],
    queryFn: () => dataOf(api.GET('/api/v1/users/loggedInUser', { params: { query: { fields: 'teams' } } })),
    staleTime: Infinity,
  }));
  const followed = createQuery(() => ({
    queryKey: ['follows', 'ids'],
    queryFn: () => searches.followedIds(userId),
  }));
  const marks = createQuery(() => ({ queryKey: ['incidents', 'marks'], queryFn: readMarks }));
  const breaking = createQuery(() => ({
    queryKey: ['events', 'breaking', sinceMs],
    queryFn: () => readBreaking(sinceMs),
  }));

  const idsMarked = (kind: Mark['kind']) =>
    [...(marks.data ?? [])].filter(([, list]) => list.some((mark) => mark.kind === kind)).map(([id]) => id);
  const meanings = $derived<searches.Meanings>({
    failing: idsMarked('incident'),
    stale: idsMarked('stale'),
    announced: idsMarked('change'),
    breaking: [...(breaking.data?.marks.keys() ?? [])],
    follow: followed.data ?? [],
    own: me.data ? [me.data.name, ...(me.data.teams ?? []).map(({ name }) => name ?? '')] : [],
    sinceMs,
  });
  const isReady = $derived(!me.isPending && !followed.isPending && !marks.isPending && !breaking.isPending);

  const found = createInfiniteQuery(() => ({
    queryKey: ['search', filters, meanings, sorting ?? newestFirst],
    queryFn: ({ pageParam }: { pageParam: readonly unknown[] }) =>
      searches.search(filters, meanings, { after: pageParam, sorting: sorting ?? newestFirst }),
    initialPageParam: [] as readonly unknown[],
    getNextPageParam: (page) => (page.after.length ? page.after : undefined),
    placeholderData: keepPreviousData,
    enabled: isReady,
  }));
  const rows = $derived((found.data?.pages ?? []).flatMap((page) => page.rows));
  const total = $derived(found.data?.pages[0]?.total);
  const owners = $derived(ownersOf(rows, filters.owner));
  const buckets = createQuery(() => ({
    queryKey: ['search', 'buckets', filters, meanings],
    queryFn: () => readBuckets(filters, meanings),
    placeholderData: keepPreviousData,
    enabled: isReady,
  }));
  const counts = createQuery(() => ({
    queryKey: ['search', 'counts', filters, meanings, owners],
    queryFn: () => readCounts(filters, meanings, owners),
    placeholderData: keepPreviousData,
    enabled: isReady && found.isSuccess && !found.isPlaceholderData,
  }));
  const groups = $derived(groupsOf(filters, buckets.data, counts.data, owners));
  const isCut = $derived(
    searches.facetNarrowingOf(filters, meanings).isCut ||
      (!!breaking.data?.isCut && filters.state.includes('breaking')),
  );

  return {
    found,
    get filters() {
      return filters;
    },
    get meanings() {
      return meanings;
    },
    get rows() {
      return rows;
    },
    get total() {
      return total;
    },
    get groups() {
      return groups;
    },
    get isCut() {
      return isCut;
    },
    get marks() {
      return marks.data;
    },
    get breaking() {
      return breaking.data?.marks;
    },
  };
}
