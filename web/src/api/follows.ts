// Follows: what a person follows, how it tells of it, and following more or less.
import { api, dataOf } from './client';
import type { components } from './schema';

type Schemas = components['schemas'];
export type Followed = Schemas['FollowedAssets']['data'][number];
export type FollowChoices = Schemas['FollowChoices'];
export type Review = 'stale' | 'noisy' | 'gone' | 'expiring';
export const reviews: readonly Review[] = ['stale', 'noisy', 'gone', 'expiring'];
export type FollowSorting = 'name' | 'lastChange' | 'lastOpened' | 'since' | 'told';
export type FollowFilters = {
  q?: string;
  type?: string;
  review?: Review | undefined;
  sortField?: FollowSorting;
  sortOrder?: 'asc' | 'desc';
};

const PAGE = 50;

/** Return what tells a follow from the others of a person: an asset, or one column of it. */
export const idOfFollow = ({ asset, column }: Followed): string =>
  column ? `${asset.id}/${column}` : asset.id;

/** Return a page of what a person follows. */
export async function followedPage(userId: string, filters: FollowFilters, after = '') {
  const { q, type, review, sortField, sortOrder } = filters;
  const query = {
    limit: PAGE,
    ...(q ? { q } : {}),
    ...(type ? { type } : {}),
    ...(review ? { review } : {}),
    ...(sortField ? { sortField } : {}),
    ...(sortOrder ? { sortOrder } : {}),
    ...(after ? { after } : {}),
  };
  const params = { path: { user_id: userId }, query };
  return dataOf(api.GET('/api/v1/users/{user_id}/following', { params }));
}

/** Return how many follows each review finds. */
export async function reviewCounts(userId: string): Promise<Record<Review | 'all', number>> {
  const totalOf = async (review?: Review) => {
    const query = { limit: 1, ...(review ? { review } : {}) };
    const params = { path: { user_id: userId }, query };
    return (await dataOf(api.GET('/api/v1/users/{user_id}/following', { params }))).paging.total ?? 0;
  };
  const [all, stale, noisy, gone, expiring] = await Promise.all([totalOf(), ...reviews.map(totalOf)]);
  return { all: all!, stale: stale!, noisy: noisy!, gone: gone!, expiring: expiring! };
}

/** Follow assets, or no longer; returns what came of it. */
export async function follow(
  userId: string,
  ids: readonly string[],
  preferences?: FollowChoices,
  column?: string,
) {
  const params = { path: { user_id: userId } };
  const body = { ids: [...ids], ...(preferences ? { preferences } : {}), ...(column ? { column } : {}) };
  return dataOf(api.POST('/api/v1/users/{user_id}/follows', { params, body }));
}
export async function unfollow(userId: string, ids: readonly string[], column?: string) {
  const params = { path: { user_id: userId } };
  const body = { ids: [...ids], ...(column ? { column } : {}) };
  return dataOf(api.POST('/api/v1/users/{user_id}/unfollow', { params, body }));
}

/** Choose what one follow tells of, and how often; `{}` takes it back. */
export async function chooseFollow(userId: string, followed: Followed, body: FollowChoices) {
  const query = followed.column ? { column: followed.column } : {};
  const params = { path: { user_id: userId, followed_id: followed.asset.id }, query };
  return dataOf(api.PUT('/api/v1/users/{user_id}/following/{followed_id}/preferences', { params, body }));
}

/** Return what a person may like to follow, with the reasons. */
export async function recommendations(userId: string, limit = 6) {
  const params = { path: { user_id: userId }, query: { limit } };
  return dataOf(api.GET('/api/v1/users/{user_id}/recommendations', { params }));
}

/** Recommend an asset no more, or again. */
export async function dismiss(userId: string, assetId: string, isDismissed = true) {
  const params = { path: { user_id: userId, asset_id: assetId } };
  const path = '/api/v1/users/{user_id}/recommendations/{asset_id}/dismissal' as const;
  return isDismissed ? dataOf(api.PUT(path, { params })) : dataOf(api.DELETE(path, { params }));
}
