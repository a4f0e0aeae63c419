// Change requests: announced, answered, discussed, moved and withdrawn. A consumer is who or what reads what changes.
import { api, dataOf } from './client';
import type { components } from './schema';

type Schemas = components['schemas'];
export type Reference = {
  id: string;
  type: string;
  name?: string;
  fullyQualifiedName?: string;
  displayName?: string;
};
type References = { entity: Reference; author: Reference };
export type ChangeDetails = Omit<Schemas['ChangeRequestDetails'], keyof References> & References;
export type ChangeRequest = Omit<ChangeDetails, 'consumers'>;
export type Answer = Schemas['ConsumerVerdict'];
export type Status = ChangeDetails['status'];
export type Announcement = Omit<Schemas['ChangeAnnouncement'], 'entity'> & {
  entity: { type: string; fullyQualifiedName: string };
};
export type Told = {
  user: Reference;
  kind: 'announced' | 'moved' | 'reminded';
  channel: string;
  status: string;
  timestamp: number;
  readAt?: number;
};
export type Consumer = {
  entity: Reference;
  level: number;
  basis: 'column' | 'asset' | 'follow';
  answeredBy: Reference[];
  /** From what changes to it, by the lineage of now; empty if a part is hidden. */
  chain: Reference[];
  /** The notifications that asked for an answer, newest first, as far as I may know. */
  told: Told[];
  answer: { answer: Answer; timestamp: number; user: Reference; until?: number; comment?: string } | null;
};
export type DryRun = ChangeDetails & { firstConsumers?: Consumer[] };
export type TimelineStep = {
  kind: string;
  timestamp: number;
  user?: Reference;
  comment?: string;
  answer?: Answer;
  until?: number;
  entity?: Reference;
  way?: string;
};
export type Page<Row> = { data: Row[]; paging: { after?: string } };

const PAGE = 30;
const MOST_CONSUMERS = 50;
const pathOf = (request: string) => ({ path: { request } });
const cast = <Wanted>(answer: Promise<unknown>): Promise<Wanted> => answer as Promise<Wanted>;

/** Return a page of change requests of a status, newest first. */
export const changesOf = (status: Status | undefined, after: string): Promise<Page<ChangeRequest>> =>
  cast(
    dataOf(
      api.GET('/api/v1/changes', {
        params: { query: { limit: PAGE, ...(status ? { status } : {}), ...(after ? { after } : {}) } },
      }),
    ),
  );

/** Return one change request by its number. */
export const changeOf = (request: string): Promise<ChangeDetails> =>
  cast(dataOf(api.GET('/api/v1/changes/{request}', { params: pathOf(request) })));

/** Return a page of who and what reads what changes, nearest first. */
export const consumersOf = (request: string, after: string): Promise<Page<Consumer>> => {
  const query = { limit: MOST_CONSUMERS, ...(after ? { after } : {}) };
  return cast(
    dataOf(api.GET('/api/v1/changes/{request}/consumers', { params: { ...pathOf(request), query } })),
  );
};

/** Return what happened to a request, in order. */
export const timelineOf = (request: string): Promise<Page<TimelineStep>> =>
  cast(
    dataOf(
      api.GET('/api/v1/changes/{request}/timeline', {
        params: { ...pathOf(request), query: { limit: 100 } },
      }),
    ),
  );

export type AnswerBody = { answer: Answer; consumers?: string[]; until?: string; comment?: string };

/** Answer for all consumers that are mine, or for those named. */
export const answer = (request: string, body: AnswerBody): Promise<ChangeDetails> =>
  cast(dataOf(api.PUT('/api/v1/changes/{request}/answer', { params: pathOf(request), body })));

/** Add to the discussion. */
export const comment = (request: string, text: string): Promise<unknown> =>
  dataOf(
    api.POST('/api/v1/changes/{request}/comments', { params: pathOf(request), body: { comment: text } }),
  );

/** Remind those who answer for one consumer; only who announced the change may, once a day. */
export const remind = (request: string, consumer: string): Promise<unknown> =>
  dataOf(api.POST('/api/v1/changes/{request}/reminders', { params: pathOf(request), body: { consumer } }));

/** Move the date to a later one. */
export const move = (request: string, date: string, why: string): Promise<unknown> =>
  dataOf(
    api.PUT('/api/v1/changes/{request}/move', {
      params: pathOf(request),
      body: { date, ...(why ? { comment: why } : {}) },
    }),
  );

/** Withdraw a request. */
export const withdraw = (request: string, why: string): Promise<unknown> =>
  dataOf(
    api.PUT('/api/v1/changes/{request}/withdraw', {
      params: pathOf(request),
      body: why ? { comment: why } : {},
    }),
  );

/** Announce a change; a dry run says who would be asked, and stores nothing. */
export const announce = (body: Announcement, isDryRun: boolean): Promise<DryRun> =>
  cast(dataOf(api.POST('/api/v1/changes', { params: { query: { dryRun: isDryRun } }, body })));
