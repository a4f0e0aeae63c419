// What waits beside the inbox, as the rail counts it: incidents that are not resolved, change requests without my answer.
import { api, dataOf } from './client';

const MOST = 100;

export async function railCounts(userId: string): Promise<{ incidents: number; changes: number }> {
  const [incidents, changes] = await Promise.all([
    dataOf(api.GET('/api/v1/incidents', { params: { query: { status: 'unresolved', limit: MOST } } })),
    dataOf(
      api.GET('/api/v1/users/{user_id}/notifications', {
        params: {
          path: { user_id: userId },
          query: { tab: 'all', needsMe: true, kind: 'changeRequest', limit: 0 },
        },
      }),
    ),
  ]);
  return { incidents: incidents.data.length, changes: changes.paging.total ?? 0 };
}
