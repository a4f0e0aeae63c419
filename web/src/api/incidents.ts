// Incidents: one for each failure until its end, what failed, and what people do about it.
import type { Reference } from '../words/references';
import { tableOfLink, type ResolveReason } from '../words/incidents';
import { readResults, readRuns, type Result } from './assets';
import { api, dataOf } from './client';
import { read } from './collections';
import { needs } from './inbox';
import type { components } from './schema';

type Schemas = components['schemas'];
type References = {
  watchers: Reference[];
  entity: Reference;
  assignee: Reference | null;
  acknowledgedBy: Reference | null;
  resolution: { user: Reference; reason: ResolveReason | null; comment: string | null } | null;
  parts: { id: string; name: string; status: string; entity: Reference }[];
};
export type Incident = Omit<Schemas['AlertIncident'], keyof References> & References;
export type Step = {
  kind: string;
  timestamp: number;
  eventId: string | null;
  says: string;
  user?: Reference;
  comment?: string;
  reason?: string | null;
  status?: string;
  channel?: string;
  recipient?: Reference;
};
export type Cause = { id: string; name: string; entity: Reference; asset: Reference };
export type IncidentDetails = Incident & {
  timeline: Step[];
  isWhole: boolean;
  probableCauses: Cause[];
  dismissedCauses: Omit<Cause, 'asset'>[];
};
export type IncidentState = 'unresolved' | 'resolved' | 'all';

/** What failed: the test or pipeline, the asset that it is about, and what its last failure says. */
export type Failure = { asset: Reference | null; says: string; results: readonly Result[] };

const PAGE = 20;
const MOST_UNTOLD = 50;

/** The owner of whom a person asks who means what they or their teams own. */
export const ME = 'me';

/** Return a page of incidents, newest first; of an asset, of an owner, or assigned to me or my teams where `isMine`. */
export async function incidentsOf(
  state: IncidentState,
  { isMine = false, owner = '', asset = '', after = '', limit = PAGE } = {},
) {
  const query = {
    limit,
    ...(asset ? { asset } : {}),
    ...(state === 'all' ? {} : { status: state }),
    ...(isMine ? { mine: true } : {}),
    ...(owner === ME ? { owned: true } : owner ? { owner } : {}),
    ...(after ? { after } : {}),
  };
  const page = await dataOf(api.GET('/api/v1/incidents', { params: { query: query as never } }));
  return page as unknown as { data: Incident[]; paging: { after?: string; total?: number } };
}

/** Return what I or my teams own, fails and nobody is on, apart from what already needs me by a message. */
export async function readUntold(userId: string): Promise<readonly Incident[]> {
  const query = { owned: true, unattended: true, limit: MOST_UNTOLD };
  const page = await dataOf(api.GET('/api/v1/incidents', { params: { query } }));
  if (!page.data.length) return [];
  const told = new Set((await needs(userId)).data.map(({ incident }) => incident?.name));
  return (page.data as unknown as Incident[]).filter(({ name }) => !told.has(name));
}

/** Return an incident by its number, with its timeline. */
export async function incidentOf(name: string): Promise<IncidentDetails> {
  const params = { path: { incident: name } };
  return (await dataOf(api.GET('/api/v1/incidents/{incident}', { params }))) as unknown as IncidentDetails;
}

/** Return earlier incidents of what failed, newest first. */
export async function seenBefore(incident: Incident): Promise<Incident[]> {
  const query = { asset: incident.entity.fullyQualifiedName, limit: 6 };
  const page = await dataOf(api.GET('/api/v1/incidents', { params: { query: query as never } }));
  return (page.data as unknown as Incident[]).filter(({ id }) => id !== incident.id);
}

/** Return what failed, with its results of the last 30 days. */
export async function failureOf(entity: Reference): Promise<Failure> {
  const fqn = entity.fullyQualifiedName ?? '';
  if (entity.type !== 'testCase') {
    const results = await readRuns(entity.type, fqn);
    return { asset: entity, says: results.find(({ text }) => text)?.text ?? '', results };
  }
  const [test, results] = await Promise.all([
    read<{ entityLink?: string }>(`dataQuality/testCases/name/${encodeURIComponent(fqn)}`),
    readResults(fqn),
  ]);
  const table = tableOfLink(test.entityLink ?? '');
  const failed = results.find(({ status }) => status === 'Failed');
  return { asset: table && { id: '', ...table }, says: failed?.text ?? '', results };
}

const path = (name: string) => ({ path: { incident: name } });
const worded = (comment: string) => (comment.trim() ? { comment: comment.trim() } : {});

export const acknowledge = (name: string, comment = '') =>
  dataOf(api.PUT('/api/v1/incidents/{incident}/acknowledge', { params: path(name), body: worded(comment) }));

export const assign = (name: string, { id, type }: Pick<Reference, 'id' | 'type'>, comment = '') =>
  dataOf(
    api.PUT('/api/v1/incidents/{incident}/assign', {
      params: path(name),
      body: { assignee: { id, type } as never, ...worded(comment) },
    }),
  );

export const resolve = (name: string, reason: ResolveReason, comment = '') =>
  dataOf(
    api.PUT('/api/v1/incidents/{incident}/resolve', {
      params: path(name),
      body: { reason, ...worded(comment) },
    }),
  );

export const merge = (name: string, into: string, comment = '') =>
  dataOf(
    api.PUT('/api/v1/incidents/{incident}/merge', {
      params: path(name),
      body: { into, ...worded(comment) },
    }),
  );

/** Say that another incident did not cause this one: it is no longer named as its cause. */
export const dismissCause = (name: string, cause: string) =>
  dataOf(
    api.PUT('/api/v1/incidents/{incident}/dismiss-cause', {
      params: path(name),
      body: { cause },
    }),
  );

/** Undo the dismissal of a cause: it is named again. */
export const restoreCause = (name: string, cause: string) =>
  dataOf(
    api.PUT('/api/v1/incidents/{incident}/restore-cause', {
      params: path(name),
      body: { cause },
    }),
  );

export const split = (name: string) =>
  dataOf(api.PUT('/api/v1/incidents/{incident}/split', { params: path(name), body: {} }));

export type Figures = Omit<Schemas['AlertIncidentFigures'], 'repeaters'> & {
  repeaters: { entity: Reference; count: number; latest: string }[];
};

/** Return figures of the last 30 days, and how many are open. */
export const figuresOf = async () =>
  (await dataOf(api.GET('/api/v1/incidents/figures', { params: { query: {} } }))) as unknown as Figures;

/** Say something about an incident, without acknowledging it. */
export const comment = (name: string, text: string) =>
  dataOf(
    api.PUT('/api/v1/incidents/{incident}/comment', { params: path(name), body: { comment: text.trim() } }),
  );
