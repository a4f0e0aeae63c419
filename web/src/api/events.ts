// Change events of the log: read backwards from its end in stretches, one whole, explained, and with who was told.
import type { Affected } from '../words/chains';
import { serverNow } from '../words/now';
import { read, write, type Page } from './collections';

export type ChangeEvent = {
  id: string;
  eventType: string;
  entityType: string;
  entityId: string;
  entityFullyQualifiedName?: string;
  previousVersion?: number;
  currentVersion?: number;
  userName?: string;
  timestamp: number;
  title?: string;
  changes?: string[];
  semanticChanges?: { category: string; operation: string; target: string; text: string }[];
  breaking?: boolean;
  breakingReasons?: { text: string; field?: string }[];
  reason?: string;
  partOf?: string;
};
export type EventFilters = { entityTypes?: string; userName?: string; breaking?: true };
type LogPage = { data: ChangeEvent[]; paging: { offset: number } };
/** Events, newest first, from the offset `from` of the log up to `to`; a `from` of 0 is where the log begins. */
export type Stretch = { events: ChangeEvent[]; from: number; to: number };

const FIRST_WIDTH = 120;
const ENOUGH = 40;
const PAGE = 250;
const MOST_PAGES = 20;

/** Return the offset of the end of the log. */
export const endOfLog = async (): Promise<number> =>
  (await read<LogPage>('events', { offset: 'latest', limit: 1 })).paging.offset;

/** Return the events from an offset on, oldest first, and the offset to go on from. */
export const eventsFrom = (offset: number, filters: EventFilters, limit = PAGE): Promise<LogPage> =>
  read<LogPage>('events', { format: 'tocsin', offset, limit, ...filters });

/** Return the stretch of the log before an offset, wide enough for some events where filters leave few. */
export async function stretchBefore(to: number, filters: EventFilters): Promise<Stretch> {
  let events: ChangeEvent[] = [];
  let from = to;
  for (let width = FIRST_WIDTH; from > 0 && events.length < ENOUGH; width *= 4) {
    const start = Math.max(0, from - width);
    events = [...events, ...(await eventsBetween(start, from, filters)).reverse()];
    from = start;
  }
  return { events, from, to };
}

async function eventsBetween(from: number, to: number, filters: EventFilters): Promise<ChangeEvent[]> {
  const events: ChangeEvent[] = [];
  for (let offset = from; offset < to;) {
    const page = await eventsFrom(offset, filters, Math.min(PAGE, to - offset));
    events.push(...page.data);
    if (page.paging.offset <= offset) break;
    offset = page.paging.offset;
  }
  return events;
}

/** Return one event whole. */
export const eventOf = (id: string): Promise<Record<string, unknown>> => read(`events/${id}`);

export type Attempt = { outcome?: string; at?: number; timestamp?: number; reason?: string; status?: string };
export type Notified = {
  id: string;
  channel: string;
  recipientId: string | null;
  recipientName: string | null;
  recipientDisplayName: string | null;
  recipient: string;
  reasons: { kind: string; subscriptionName: string; sentence: string }[];
  dueAt: number;
  createdAt: number;
  isRead: boolean;
  readAt: number | null;
  digest: { says: string } | null;
  message: { status?: string; outcome?: string; held?: string; attempts?: Attempt[] } | null;
  destinations: string[];
};
export type AlertTrace = {
  id: string;
  name: string;
  displayName?: string;
  matched: boolean;
  gates: { name: string; holds: boolean | null; says: string }[];
  rules: { number: number; holds: boolean | null; says: string }[];
  obstacles?: string[];
  /** Whom it reaches: of a question about a person, each channel with the ways to them. */
  reached?: { data: { channel: string; isDue: boolean; ways: Way[] }[] };
};
/** Why an alert concerns a person, what stops it, and whether that relation has ended since. */
export type Way = {
  reason: { kind: string; sentence: string };
  stoppedBy: { kind: string; says: string } | null;
  hasEnded?: boolean;
};
export type Explanation = {
  answer: string;
  event: ChangeEvent & { changes: string[]; title?: string };
  pipeline: { hasReached: boolean; isRunning: boolean };
  alerts: AlertTrace[];
  otherAlerts?: { matched?: number; total?: number };
  notified: { total: number; isWhole: boolean; data: Notified[] };
};
export type Audience = {
  data: {
    userId: string | null;
    name: string;
    displayName?: string;
    destinations?: string[];
    channels: { type: string; status: string }[];
    readAt?: number;
  }[];
  isComplete: boolean;
  readCount: number;
  unowned: { total: number; data: { fullyQualifiedName: string; type: string; displayName?: string }[] };
  paging: { total: number };
};

/** Return why an event was told to whom; about one person, or by one alert, if these are named. */
export const explanationOf = (id: string, user?: string, subscription?: string): Promise<Explanation> =>
  read(`events/${id}/explain`, { user, subscription, limit: 20 });

const MINUTE_MS = 60_000;
const MONTH_MS = 30 * 86_400_000;
/** Return events of an asset, the newest of the last month first; without any, those before. */
export async function eventsOf(entityId: string, most = 8): Promise<ChangeEvent[]> {
  const query = { entityId, format: 'tocsin', limit: PAGE };
  const recent = await read<LogPage>('events', { ...query, timestamp: serverNow() - MONTH_MS });
  const page = recent.data.length ? recent : await read<LogPage>('events', query);
  return page.data.reverse().slice(0, most);
}

/** Return the events of an asset of about a time: a version is written together with its event. */
export async function eventsAround(entityId: string, atMs: number): Promise<ChangeEvent[]> {
  const query = { entityId, timestamp: atMs - MINUTE_MS, endTs: atMs + MINUTE_MS, limit: PAGE };
  const events: ChangeEvent[] = [];
  let after: string | undefined;
  for (let count = 0; count < MOST_PAGES; count++) {
    const page = await read<Page<ChangeEvent>>('events', { ...query, after });
    events.push(...page.data);
    after = page.paging.after;
    if (!after) break;
  }
  return events;
}

/** Return who was told of an event, and who has read it, as far as I may know. */
export const audienceOf = (id: string): Promise<Audience> => read(`events/${id}/audience`, { limit: 100 });

export type EventImpact = {
  columns: string[];
  counts: { total: number };
  people: { owners: number; followers: number };
  affected: Record<string, Affected[]>;
};

/** Return what lies below what an event changed: of changed columns only what reads them. */
export const impactOf = (id: string): Promise<EventImpact> => read(`events/${id}/impact`);

export type LakeQuery = {
  id: string;
  state: string;
  columns?: { name: string; type: string }[];
  rows?: unknown[][] | Record<string, unknown>[];
  reason?: string;
  message?: string;
};

/** Start an SQL query over the lake; it may answer at once. */
export const startLakeQuery = (sql: string, since: string): Promise<LakeQuery> =>
  write('POST', 'lake/query?wait=10', { sql, ...(since ? { since } : {}) });

/** Return a query, waiting for its rows a while. */
export const lakeQueryOf = (id: string): Promise<LakeQuery> => read(`lake/queries/${id}`, { wait: 20 });

/** Cancel a query; one that is over stays. */
export const cancelLakeQuery = (id: string): Promise<LakeQuery> => write('DELETE', `lake/queries/${id}`);

type AskedQuery = { id: string; sql: string; state: string; requestedAt: number; rowCount?: number };
/** Return the queries that ran, newest first. */
export const lakeQueries = (): Promise<Page<AskedQuery>> => read('lake/queries', { limit: 10 });
