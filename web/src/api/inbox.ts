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
const DETAILS = 'severity,runbooks,failure,incident';

/** Return how many entries each tab has. */
export async function countsOf(userId: string): Promise<TabCounts> {
  const params = { path: { user_id: userId }, query: { limit: 0 } };
  return (await dataOf(api.GET('/api/v1/users/{user_id}/notifications', { params }))).counts;
}

/** Return the entries that still need their person, newest first. */
export async function needs(userId: string): Promise<Entry[]> {
  const query = { tab: 'all' as const, needsMe: true, fields: DETAILS, limit: PAGE };
  const params = { path: { user_id: userId }, query };
  return (await dataOf(api.GET('/api/v1/users/{user_id}/notifications', { params }))).data;
}

/** Return a page of the causes of a tab, of what is for information where `isInformation`. */
export function causes(
  userId: string,
  tab: Tab,
  { after, isInformation }: { after?: string; isInformation?: boolean },
) {
  const query = {
    tab,
    limit: PAGE,
    ...(after ? { after } : {}),
    ...(isInformation ? { needsMe: false } : {}),
  };
  const params = { path: { user_id: userId }, query };
  return dataOf(api.GET('/api/v1/users/{user_id}/notifications/causes', { params }));
}

/** Return the entries of one cause in a tab. */
export async function entriesOf(userId: string, tab: Tab, cause: string): Promise<Entry[]> {
  const params = { path: { user_id: userId }, query: { tab, cause, fields: DETAILS, limit: PAGE } };
  return (await dataOf(api.GET('/api/v1/users/{user_id}/notifications', { params }))).data;
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
