// The rows of the inbox as one list: what needs me, then causes; new ones wait, opened ones stay where they were.
import { createInfiniteQuery } from '@tanstack/svelte-query';
import * as inbox from '../../api/inbox';
import { parted } from '../../words/waiting';
import { distinct, rowOfCause, rowOfEntry, withKept, type Row } from './rows';

type Pages = {
  hasNextPage: boolean;
  isFetching: boolean;
  isError: boolean;
  fetchNextPage: () => Promise<unknown>;
};
export type Choice = { tab: inbox.Tab; kinds: readonly string[]; words: string };

/** Return the rows of what `choiceOf` chooses; called once while a component begins. */
export function rowsOf(userId: string, choiceOf: () => Choice) {
  const choice = $derived(choiceOf());
  const hasBands = $derived(choice.tab === 'unread' || choice.tab === 'all');
  const name = $derived(`${choice.tab} ${choice.kinds.join()} ${choice.words}`);
  const needing = createInfiniteQuery(() => ({
    queryKey: ['inbox', 'needs', choice.kinds, choice.words],
    queryFn: ({ pageParam }: { pageParam: string }) => inbox.needs(userId, choice, pageParam),
    initialPageParam: '',
    getNextPageParam: (page) => page.paging.after,
    enabled: hasBands,
  }));
  const causes = createInfiniteQuery(() => ({
    queryKey: ['inbox', 'causes', choice.tab, choice.kinds, choice.words],
    queryFn: ({ pageParam }: { pageParam: string }) =>
      inbox.causes(userId, choice.tab, { after: pageParam, isInformation: hasBands, ...choice }),
    initialPageParam: '',
    getNextPageParam: (page) => page.paging.after,
  }));

  let accepted = $state.raw<ReadonlySet<string> | null>(null);
  let kept = $state.raw<ReadonlyMap<string, Row>>(new Map());
  const needRows = $derived(
    hasBands ? distinct((needing.data?.pages ?? []).flatMap(({ data }) => data).map(rowOfEntry)) : [],
  );
  const causeRows = $derived(
    distinct((causes.data?.pages ?? []).flatMap(({ data }) => data).map(rowOfCause)),
  );
  const needed = $derived(parted(needRows, accepted));
  const informing = $derived(parted(causeRows, accepted));
  const isLoaded = $derived(causes.isSuccess && (!hasBands || needing.isSuccess));

  const keysNow = () => [...needRows, ...causeRows].map(({ key }) => key);
  const accept = () => (accepted = new Set(keysNow()));
  let acceptedName = '';
  $effect(() => {
    if (!isLoaded || acceptedName === name) return;
    acceptedName = name;
    kept = new Map();
    accept();
  });
  /** Load the next page: its rows are shown, what came meanwhile still waits. */
  async function loadMore(query: Pages) {
    if (!query.hasNextPage || query.isFetching) return;
    const before = new Set(keysNow());
    await query.fetchNextPage();
    const fresh = keysNow().filter((key) => !before.has(key));
    accepted = new Set([...(accepted ?? before), ...fresh]);
  }

  // A page may be empty although there is one after it: the list goes on until it has a row, or is at its end.
  const isSearching = (query: Pages, rows: readonly Row[]) =>
    !rows.length && query.hasNextPage && !query.isError;
  $effect(() => {
    if (hasBands && isSearching(needing, needRows)) void loadMore(needing);
    if (isSearching(causes, causeRows)) void loadMore(causes);
  });

  return {
    get hasBands() {
      return hasBands;
    },
    get isLoaded() {
      return isLoaded;
    },
    /** Whether nothing is shown yet: both bands appear together. */
    get isPending() {
      return causes.isPending || (hasBands && needing.isPending);
    },
    /** Whether what is chosen is still looked for in further pages. */
    get isSearching() {
      return isSearching(causes, causeRows) || (hasBands && isSearching(needing, needRows));
    },
    get needed() {
      return needed.shown;
    },
    get neededTotal() {
      return Math.max(needing.data?.pages[0]?.paging.total ?? 0, needed.shown.length);
    },
    get informing() {
      return withKept(informing.shown, kept);
    },
    get waiting() {
      return { all: needed.waiting.length + informing.waiting.length, needing: needed.waiting.length };
    },
    get state() {
      return causes;
    },
    accept,
    moreNeeding: () => void loadMore(needing),
    moreCauses: () => void loadMore(causes),
    /** Keep a row that was opened where it is, read. */
    keep: (row: Row) => {
      if (row.cause) kept = new Map([...kept, [row.key, { ...row, isUnread: false }]]);
    },
    /** Let rows go that are done, snoozed or marked otherwise; returns how to keep them again. */
    release: (rows: readonly Row[]): (() => void) => {
      const keys = new Set(rows.map(({ key }) => key));
      const gone = [...kept].filter(([key]) => keys.has(key));
      kept = new Map([...kept].filter(([key]) => !keys.has(key)));
      return () => (kept = new Map([...kept, ...gone]));
    },
  };
}
