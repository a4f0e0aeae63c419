// Follows: what a person follows, how it tells of it, and following more or less.
import { api, dataOf } from './client';
import type { components } from './schema';

type Schemas = components['schemas'];
export type Followed = Schemas['FollowedAssets']['data'][number];
export type FollowChoices = Schemas['FollowChoices'];
export type Review = 'stale' | 'noisy' | 'gone' | 'expiring';
export const reviews: readonly Review[] = ['stale', 'noisy', 'gone', 'expiring'];
export type Tie = Followed['tie'];
export const ties: readonly Tie[] = ['asset', 'column', 'container', 'team'];
export type FollowSorting = 'name' | 'lastChange' | 'lastOpened' | 'since' | 'told';
export type FollowFilters = {
  q?: string;
  type?: string;
  review?: Review | undefined;
  tie?: Tie | undefined;
  sortField?: FollowSorting;
  sortOrder?: 'asc' | 'desc';
};

const PAGE = 50;

/** Return what tells a follow from the others of a person: an asset, or one column of it. */
export const idOfFollow = ({ asset, column }: Followed): string =>
  column ? `${asset.id}/${column}` : asset.id;

/** Return a page of what a person follows. */
export async function followedPage(userId: string, filters: FollowFilters, after = '') {
  const { q, type, review, tie, sortField, sortOrder } = filters;
  const query = {
    limit: PAGE,
    ...(q ? { q } : {}),
    ...(type ? { type } : {}),
    ...(review ? { review } : {}),
    ...(tie ? { tie } : {}),
    ...(sortField ? { sortField } : {}),
    ...(sortOrder ? { sortOrder } : {}),
    ...(after ? { after } : {}),
  };
  const params = { path: { user_id: userId }, query };
  return dataOf(api.GET('/api/v1/users/{user_id}/following', { params }));
}

/** Return what a person follows in numbers: of each kind, to review, and told in 30 days. */
export const summaryOf = (userId: string) =>
  dataOf(api.GET('/api/v1/users/{user_id}/following/summary', { params: { path: { user_id: userId } } }));
export type Summary = Awaited<ReturnType<typeof summaryOf>>;

/** Return the kinds of change that there are. */
export const changeKinds = async () =>
  (await dataOf(api.GET('/api/v1/changeKinds'))).data.filter((kind) => kind.hasEvents);

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

/** Follow what a search finds, or only count it. */
export async function followSearched(
  userId: string,
  query: string,
  { preferences, isDry }: { preferences?: FollowChoices; isDry: boolean },
) {
  const params = { path: { user_id: userId } };
  const body = { query, dryRun: isDry, ...(preferences ? { preferences } : {}) };
  return dataOf(api.POST('/api/v1/users/{user_id}/follows', { params, body }));
}

const columnOf = ({ column }: Followed) => column ?? '';
/** Return the ids of follows with the column that they are of, if of one: what one request can select. */
function selectionsOf(list: readonly Followed[]): { ids: string[]; column: string | undefined }[] {
  return [...new Set(list.map(columnOf))].map((column) => ({
    ids: list.filter((row) => columnOf(row) === column).map(({ asset }) => asset.id),
    column: column || undefined,
  }));
}

/** Choose the same for many follows; a request for each column, and for each that a team lets one follow. */
export async function chooseMany(userId: string, list: readonly Followed[], choices: FollowChoices) {
  for (const row of list.filter(({ team }) => team)) await chooseFollow(userId, row, choices);
  for (const { ids, column } of selectionsOf(list.filter(({ team }) => !team)))
    await follow(userId, ids, choices, column);
}
export async function unfollowMany(userId: string, list: readonly Followed[]) {
  for (const { ids, column } of selectionsOf(list)) await unfollow(userId, ids, column);
}
/** Follow again as before, with what each told of. */
export async function followAgain(userId: string, list: readonly Followed[]) {
  const alike = new Map<string, Followed[]>();
  for (const row of list) {
    const key = JSON.stringify(row.preferences ?? null);
    alike.set(key, [...(alike.get(key) ?? []), row]);
  }
  for (const group of alike.values())
    for (const { ids, column } of selectionsOf(group))
      await follow(userId, ids, group[0]?.preferences, column);
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
