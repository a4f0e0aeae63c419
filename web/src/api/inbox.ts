// The inbox: counts, causes, and marks of entries.
import { api, dataOf } from './client';
import type { components } from './schema';

export type Cause = components['schemas']['CausesOfInbox']['data'][number];
export type Tab = 'unread' | 'all' | 'saved' | 'snoozed' | 'done';

/** Return how many entries each tab has. */
export async function countsOf(userId: string): Promise<Record<Tab, number>> {
  const page = await dataOf(
    api.GET('/api/v1/users/{user_id}/notifications', { params: { path: { user_id: userId }, query: { limit: 0 } } }),
  );
  return (page as unknown as { counts: Record<Tab, number> }).counts;
}

/** Return a page of the causes of a tab. */
export function causesOf(userId: string, tab: Tab, after?: string) {
  const query = { tab, limit: 30, ...(after ? { after } : {}) } as never;
  return dataOf(
    api.GET('/api/v1/users/{user_id}/notifications/causes', { params: { path: { user_id: userId }, query } }),
  );
}
