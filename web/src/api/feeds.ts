// Addresses of feeds for feed readers: each opens one feed, with the rights of the person who made it.
import { api, dataOf } from './client';
import type { components } from './schema';

export type Feed = components['schemas']['Feed'];
export type FeedScope = 'all' | 'following' | 'owned';

const of = (userId: string) => ({ params: { path: { user_id: userId } } });

export const feedsOf = async (userId: string) =>
  (await dataOf(api.GET('/api/v1/users/{user_id}/feeds', of(userId)))).data;
export const openFeed = (userId: string, scope: FeedScope) =>
  dataOf(api.POST('/api/v1/users/{user_id}/feeds', { ...of(userId), body: { of: scope } }));
export const revokeFeed = (userId: string, feedId: string) =>
  dataOf(
    api.DELETE('/api/v1/users/{user_id}/feeds/{feed_id}', {
      params: { path: { user_id: userId, feed_id: feedId } },
    }),
  );
