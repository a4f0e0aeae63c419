// What the bell shows: the first that needs a person, and the first unread causes; never a second inbox.
import { api, dataOf } from './client';
import type { Cause, Entry } from './inbox';
import type { components } from './schema';

export type BellContent = {
  needs: readonly Entry[];
  needsCount: number;
  causes: readonly Cause[];
  causeCount: number;
};
export type Undo = components['schemas']['MarkedEntries']['undo'];

const MOST_NEEDS = 3;
const MOST_CAUSES = 2;
const DETAILS = 'failure,incident';

export async function readBell(userId: string): Promise<BellContent> {
  const path = { user_id: userId };
  const [needs, causes] = await Promise.all([
    dataOf(
      api.GET('/api/v1/users/{user_id}/notifications', {
        params: { path, query: { tab: 'all', needsMe: true, limit: MOST_NEEDS, fields: DETAILS } },
      }),
    ),
    dataOf(
      api.GET('/api/v1/users/{user_id}/notifications/causes', {
        params: { path, query: { tab: 'unread', needsMe: false, limit: MOST_CAUSES, fields: DETAILS } },
      }),
    ),
  ]);
  return {
    needs: needs.data,
    needsCount: needs.paging.total ?? needs.data.length,
    causes: causes.data,
    causeCount: causes.counts.causes,
  };
}

/** Note that the list was shown: what is in it stays unread, but is no longer new. */
export async function markSeen(userId: string): Promise<void> {
  await dataOf(
    api.PUT('/api/v1/users/{user_id}/notifications/seen', { params: { path: { user_id: userId } } }),
  );
}

/** Mark what is for information as read; resolves to how many, and how to undo it. */
export async function markInformationRead(userId: string): Promise<{ marked: number; undo: Undo }> {
  const params = { path: { user_id: userId } };
  const body = { as: 'read' as const, tab: 'unread' as const, filter: { needsMe: false } };
  const answer = await dataOf(
    api.POST('/api/v1/users/{user_id}/notifications/marks', { params, body: body as never }),
  );
  return { marked: answer.marked, undo: answer.undo };
}
