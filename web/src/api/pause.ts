// A pause of everything for a while: notifications of that time are kept back, and what needs one stays in the inbox.
import { api, dataOf } from './client';

/** Return until when a person has paused everything; null if they have not. */
export async function pausedUntil(userId: string): Promise<number | null> {
  const params = { path: { user_id: userId } };
  const mutes = await dataOf(api.GET('/api/v1/users/{user_id}/mutes', { params }));
  return mutes.data.find((mute) => mute.kind === 'everything' && !mute.channel)?.until ?? null;
}

export async function pause(userId: string, until: number): Promise<void> {
  const params = { path: { user_id: userId } };
  await dataOf(api.PUT('/api/v1/users/{user_id}/mutes', { params, body: { kind: 'everything', until } }));
}

export async function endPause(userId: string): Promise<void> {
  const params = { path: { user_id: userId, about_id: 'everything' } };
  await dataOf(api.DELETE('/api/v1/users/{user_id}/mutes/{about_id}', { params }));
}
