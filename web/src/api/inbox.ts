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

const ofKinds = (kinds: readonly string[]) => (kinds.length ? { kind: kinds.join(',') } : {});

/** Return the entries that still need their person, newest first; of some kinds only, if any are given. */
export async function needs(userId: string, kinds: readonly string[] = []): Promise<Entry[]> {
  const query = { tab: 'all' as const, needsMe: true, fields: DETAILS, limit: PAGE, ...ofKinds(kinds) };
  const params = { path: { user_id: userId }, query };
  return (await dataOf(api.GET('/api/v1/users/{user_id}/notifications', { params }))).data;
}

type CauseFilter = { after?: string; isInformation?: boolean; kinds?: readonly string[] };

/** Return a page of the causes of a tab, of what is for information where `isInformation`. */
export function causes(userId: string, tab: Tab, { after, isInformation, kinds = [] }: CauseFilter) {
  const query = {
    tab,
    limit: PAGE,
    ...(after ? { after } : {}),
    ...(isInformation ? { needsMe: false } : {}),
    ...ofKinds(kinds),
  };
  const params = { path: { user_id: userId }, query };
  return dataOf(api.GET('/api/v1/users/{user_id}/notifications/causes', { params }));
}

/** Return the entries of one cause in a tab. */
export async function entriesOf(userId: string, tab: Tab, cause: string): Promise<Entry[]> {
  const params = { path: { user_id: userId }, query: { tab, cause, fields: DETAILS, limit: PAGE } };
  return (await dataOf(api.GET('/api/v1/users/{user_id}/notifications', { params }))).data;
}

/** Mark all of a tab that is for information as read; resolves to how it was before, for undo. */
export async function markInformationRead(userId: string, tab: Tab): Promise<Schemas['MarkedEntries']> {
  const params = { path: { user_id: userId } };
  const body = { as: 'read' as const, tab, filter: { needsMe: false } as never };
  return dataOf(api.POST('/api/v1/users/{user_id}/notifications/marks', { params, body }));
}

/** Mark entries; resolves to how they were before, for undo. */
export async function mark(
  userId: string,
  ids: string[],
  as: Mark,
  until?: number,
): Promise<Schemas['MarkedEntries']> {
  const params = { path: { user_id: userId } };
  const body = { ids, as, ...(until === undefined ? {} : { until }) };
  return dataOf(api.POST('/api/v1/users/{user_id}/notifications/marks', { params, body }));
}

/** Bring back the states that entries had before a mark. */
export async function undo(
  userId: string,
  states: NonNullable<Schemas['MarkedEntries']['undo']>,
): Promise<void> {
  const params = { path: { user_id: userId } };
  await dataOf(api.POST('/api/v1/users/{user_id}/notifications/marks', { params, body: states }));
}
