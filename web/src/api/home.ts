// What Home shows: what needs me, what happened since a time, incidents, my alerts, what I own, and what comes.
import { serverNow } from '../words/now';
import { changeNumberOf } from '../words/titles';
import type { Alert } from './alerts';
import { api, dataOf } from './client';
import type { Cause, Entry } from './inbox';
import type { components } from './schema';

type Schemas = components['schemas'];
export type Reference = {
  id: string;
  type: string;
  name?: string;
  fullyQualifiedName?: string;
  displayName?: string;
};
export type Me = { id: string; name: string; displayName?: string; teams: readonly Reference[] };
export type Happening = Omit<Schemas['ActivityEventPage']['data'][number], 'entity' | 'actor'> & {
  entity: Reference;
  actor: Reference | null;
};
export type Digest = Schemas['NextDigest'];
export type Scope = 'mine' | 'team' | 'everything';

const MOST_NEEDS = 6;
const MOST_HAPPENINGS = 8;
const MOST_ALERTS = 100;
const MOST_UNANSWERED = 30;
const DAY_MS = 86_400_000;

/** Return the person who is logged in, with their teams. */
export async function readMe(userId: string): Promise<Me> {
  const params = { path: { entity_id: userId }, query: { fields: 'teams' } };
  const user = await dataOf(api.GET('/api/v1/users/{entity_id}', { params }));
  return { ...(user as unknown as Me), teams: (user as unknown as Partial<Me>).teams ?? [] };
}

export async function readNeeds(userId: string): Promise<{ entries: readonly Entry[]; count: number }> {
  const query = {
    tab: 'all' as const,
    needsMe: true,
    fields: 'severity,failure,incident',
    limit: MOST_NEEDS,
  };
  const params = { path: { user_id: userId }, query };
  const page = await dataOf(api.GET('/api/v1/users/{user_id}/notifications', { params }));
  return { entries: page.data, count: page.paging.total ?? page.data.length };
}

/** Return the causes since a time of what one follows and owns, apart from what needs one. */
export async function readCauses(
  userId: string,
  sinceMs: number,
): Promise<{ causes: readonly Cause[]; count: number }> {
  const query = {
    tab: 'all' as const,
    needsMe: false,
    startTs: sinceMs,
    limit: MOST_HAPPENINGS,
    fields: 'failure',
  };
  const params = { path: { user_id: userId }, query };
  const page = await dataOf(api.GET('/api/v1/users/{user_id}/notifications/causes', { params }));
  return { causes: page.data, count: page.counts.causes };
}

/** Return what happened last to what the teams own, or to everything that one may view. */
export async function readHappenings(
  scope: 'team' | 'everything',
  sinceMs: number,
): Promise<readonly Happening[]> {
  const days = Math.max(1, Math.ceil((serverNow() - sinceMs) / DAY_MS));
  const params = { query: { days, limit: MOST_HAPPENINGS } };
  const page =
    scope === 'team'
      ? await dataOf(api.GET('/api/v1/activity/my-feed', { params }))
      : await dataOf(api.GET('/api/v1/activity', { params }));
  return page.data as unknown as readonly Happening[];
}

/** Return the alerts that a person or one of their teams owns, each once, by name. */
export async function readAlertsOf(me: Me): Promise<readonly Alert[]> {
  const owners = [me.id, ...me.teams.map(({ id }) => id)];
  const pages = await Promise.all(
    owners.map((owner) => {
      const query = { owner, fields: 'owners,expires,destinations', limit: MOST_ALERTS };
      return dataOf(api.GET('/api/v1/events/subscriptions', { params: { query } }));
    }),
  );
  const alerts = pages.flatMap((page) => (page as { data: Alert[] }).data);
  return [...new Map(alerts.map((alert) => [alert.id, alert])).values()].sort((a, b) =>
    a.name.localeCompare(b.name),
  );
}

/** Return the numbers of the change requests that wait for a person's answer. */
export async function readUnanswered(userId: string): Promise<ReadonlySet<string>> {
  const query = { tab: 'all' as const, needsMe: true, kind: 'changeRequest', limit: MOST_UNANSWERED };
  const params = { path: { user_id: userId }, query };
  const page = await dataOf(api.GET('/api/v1/users/{user_id}/notifications', { params }));
  return new Set(page.data.map(({ title }) => changeNumberOf(title)).filter((name) => name !== undefined));
}

/** Return the messages that wait for their time, the next first. */
export async function readDigests(userId: string): Promise<readonly Digest[]> {
  const params = { path: { user_id: userId } };
  return (await dataOf(api.GET('/api/v1/users/{user_id}/digest', { params }))).data;
}
