// The inbox: counts, causes, entries, and their marks. Grain of a cause: one run, session, failure or single event.
import { api, dataOf } from './client';
import type { components } from './schema';

type Schemas = components['schemas'];
export type Cause = Schemas['CausesOfInbox']['data'][number];
export type Entry = Schemas['Notification'];
export type TabCounts = Schemas['NotificationPage']['counts'];
export const tabs = ['unread', 'all', 'saved', 'snoozed', 'done'] as const;
export type Tab = (typeof tabs)[number];
export type Mark = Schemas['Mark'];

const PAGE = 30;
const NEEDS_PAGE = 100;
const DETAILS = 'severity,runbooks,failingRows,failure,incident';

/** Return how many entries each tab has. */
export async function countsOf(userId: string): Promise<TabCounts> {
  const params = { path: { user_id: userId }, query: { limit: 0 } };
  return (await dataOf(api.GET('/api/v1/users/{user_id}/notifications', { params }))).counts;
}

/** Return how many entries need the person, and how many of a tab are of each kind. */
export function numbersOf(userId: string, tab: Tab): Promise<Schemas['InboxNumbers']> {
  const params = { path: { user_id: userId }, query: { tab } };
  return dataOf(api.GET('/api/v1/users/{user_id}/notifications/counts', { params }));
}

/** What a list is narrowed to: kinds of change, and words that all stand in the entry. */
export type Filter = { kinds?: readonly string[]; words?: string };
const ofFilter = ({ kinds = [], words = '' }: Filter) => ({
  ...(kinds.length ? { kind: kinds.join(',') } : {}),
  ...(words.trim() ? { q: words.trim() } : {}),
});
type EntryPage = Schemas['NotificationPage'];

/** Return a page of the entries that still need their person, newest first. */
export function needs(userId: string, filter: Filter = {}, after = ''): Promise<EntryPage> {
  const query = {
    tab: 'all' as const,
    needsMe: true,
    fields: DETAILS,
    limit: NEEDS_PAGE,
    ...ofFilter(filter),
  };
  const params = { path: { user_id: userId }, query: { ...query, ...(after ? { after } : {}) } };
  return dataOf(api.GET('/api/v1/users/{user_id}/notifications', { params }));
}

type CauseFilter = Filter & { after?: string; isInformation?: boolean };

/** Return a page of the causes of a tab, of what is for information where `isInformation`. */
export function causes(userId: string, tab: Tab, { after, isInformation, ...filter }: CauseFilter) {
  const query = {
    tab,
    fields: DETAILS,
    limit: PAGE,
    ...(after ? { after } : {}),
    ...(isInformation ? { needsMe: false } : {}),
    ...ofFilter(filter),
  };
  const params = { path: { user_id: userId }, query };
  return dataOf(api.GET('/api/v1/users/{user_id}/notifications/causes', { params }));
}

/** Return where what was unread is found after it was read. */
export const tabOfRead = (tab: Tab): Tab => (tab === 'unread' ? 'all' : tab);

/** Return the first entries of one cause in a tab, read ones too. */
export async function entriesOf(userId: string, tab: Tab, cause: string): Promise<Entry[]> {
  const query = { tab: tabOfRead(tab), cause, fields: DETAILS, limit: PAGE };
  const params = { path: { user_id: userId }, query };
  return (await dataOf(api.GET('/api/v1/users/{user_id}/notifications', { params }))).data;
}

/** Return one entry, in whatever tab it is; null if it is not there. */
export async function entryOf(userId: string, id: string): Promise<Entry | null> {
  const params = { path: { user_id: userId }, query: { entry: id, fields: DETAILS, limit: 1 } };
  return (await dataOf(api.GET('/api/v1/users/{user_id}/notifications', { params }))).data[0] ?? null;
}

/** Return how many notifications of the last days a filter finds. */
export async function countSince(
  userId: string,
  about: { asset?: string; alert?: string; kind?: string; actor?: string },
  startTs: number,
): Promise<number> {
  const query = { limit: 0, startTs, ...about };
  const path = { user_id: userId };
  const of = async (tab: 'all' | 'done') =>
    (
      await dataOf(
        api.GET('/api/v1/users/{user_id}/notifications', { params: { path, query: { ...query, tab } } }),
      )
    ).paging.total ?? 0;
  return (await of('all')) + (await of('done'));
}

/** Until when something is snoozed: epoch milliseconds, the next change, or the end of its incident. */
export type Until = number | 'changed' | 'resolved';
export type States = NonNullable<Schemas['MarkedEntries']['undo']>;
type Marked = { ids: string[] } | { tab: Tab; filter: { needsMe?: false; cause?: string } };

/** Mark entries, or all that a filter finds now; resolves to how they were before, for undo. */
export async function mark(userId: string, which: Marked, as: Mark, until?: Until): Promise<States[]> {
  const before: States[] = [];
  let rest: { after?: string; through?: number } = {};
  do {
    const body = { ...which, as, ...(until === undefined ? {} : { until }), ...rest } as never;
    const params = { path: { user_id: userId } };
    const marked = await dataOf(api.POST('/api/v1/users/{user_id}/notifications/marks', { params, body }));
    if (marked.undo) before.push(marked.undo);
    rest = marked.after ? { after: marked.after, through: marked.through! } : {};
  } while (rest.after);
  return before;
}

/** Bring back the states that entries had before a mark. */
export async function undo(userId: string, states: States): Promise<void> {
  const params = { path: { user_id: userId } };
  await dataOf(api.POST('/api/v1/users/{user_id}/notifications/marks', { params, body: states }));
}
