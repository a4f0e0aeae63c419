// Alerts: what they say, how they fare, whom they told, and what failed. Counts are of 30 days unless said.
import { serverNow } from '../words/now';
import { api, dataOf } from './client';
import type { components } from './schema';

export type Alert = components['schemas']['EventSubscription'];
export type AlertRequest = components['schemas']['CreateEventSubscription'];
export type Destination = components['schemas']['Destination'];
export type NoiseRow = components['schemas']['NoiseRow'];
export type Noise = components['schemas']['Noise'];
export type DestinationStatus = components['schemas']['DestinationStatus'] & {
  id?: string;
  name?: string;
  config?: { endpoint?: string; receivers?: string[] };
};
export type AlertHistory = components['schemas']['AlertHistory'];
export type LogEntry = components['schemas']['AlertLogEntry'];
export type Trial = components['schemas']['Trial'];
export type Operation = { op: 'add' | 'replace' | 'remove'; path: string; value?: unknown };

const MOST = 1_000;
const PAGE = 30;
const FIELDS =
  'owners,domains,tags,severity,runbook,expires,toMeOnly,destinations,dependsOn,triggers,notificationTemplate';

/** Return a page of the alerts that one may view, by name. */
export const list = (
  after = '',
  limit = 100,
): Promise<{ data: Alert[]; paging: { total?: number; after?: string } }> =>
  dataOf(
    api.GET('/api/v1/events/subscriptions', {
      params: { query: { fields: FIELDS, limit, ...(after ? { after } : {}) } },
    }),
  ) as Promise<{ data: Alert[]; paging: { total?: number; after?: string } }>;

export const read = (name: string): Promise<Alert> =>
  dataOf(
    api.GET('/api/v1/events/subscriptions/name/{name}', {
      params: { path: { name }, query: { fields: FIELDS } },
    }),
  ) as Promise<Alert>;

/** Return the counts of each alert that matched anything since. */
export const noise = async (since = '30d'): Promise<Map<string, NoiseRow>> => {
  const query = { since, limit: MOST };
  const page = await dataOf(api.GET('/api/v1/events/subscriptions/noise', { params: { query } }));
  return new Map((page?.data ?? []).map((row) => [row.id, row]));
};

export const noiseOf = (id: string): Promise<Noise> =>
  dataOf(
    api.GET('/api/v1/events/subscriptions/{subscription_id}/noise', {
      params: { path: { subscription_id: id }, query: { since: '30d' } },
    }),
  ) as Promise<Noise>;

export const destinationsOf = async (id: string): Promise<DestinationStatus[]> => {
  const page = await dataOf(
    api.GET('/api/v1/events/subscriptions/{subscription_id}/status', {
      params: { path: { subscription_id: id } },
    }),
  );
  return (page?.data ?? []) as DestinationStatus[];
};

export type DestinationFigures = components['schemas']['DestinationFigures']['data'][number];
export const figuresOf = async (id: string): Promise<DestinationFigures[]> =>
  (
    await dataOf(
      api.GET('/api/v1/events/subscriptions/{subscription_id}/destinationFigures', {
        params: { path: { subscription_id: id } },
      }),
    )
  ).data;

/** Send what waits for a destination that is paused or stopped. */
export const resume = (id: string, destinationId: string) =>
  api.PUT('/api/v1/events/subscriptions/{subscription_id}/status/{destination_id}', {
    params: { path: { subscription_id: id, destination_id: destinationId } },
    body: { status: 'active' },
  });

type HistoryPage = { data: AlertHistory[]; paging: { after?: string } };
export const history = (id: string, kind: 'edit' | 'firing', after: string): Promise<HistoryPage> =>
  dataOf(
    api.GET('/api/v1/events/subscriptions/{subscription_id}/history', {
      params: { path: { subscription_id: id }, query: { kind, limit: PAGE, ...(after ? { after } : {}) } },
    }),
  ) as Promise<HistoryPage>;

/** Return how many events an alert matched, and of these how many arrived, wait or failed. */
export const recordOf = (id: string): Promise<components['schemas']['EventsRecord']> =>
  dataOf(
    api.GET('/api/v1/events/subscriptions/{subscription_id}/eventsRecord', {
      params: { path: { subscription_id: id } },
    }),
  ) as Promise<components['schemas']['EventsRecord']>;

type LogPage = { data: LogEntry[]; paging: { after?: string } };
/** Return whom an alert told in 30 days, newest first. */
export const log = (id: string, after: string): Promise<LogPage> => {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const query = { startDate: day(serverNow() - 30 * 86_400_000), endDate: day(serverNow()), limit: PAGE };
  return dataOf(
    api.GET('/api/v1/events/subscriptions/{subscription_id}/logs', {
      params: { path: { subscription_id: id }, query: { ...query, ...(after ? { after } : {}) } },
    }),
  ) as Promise<LogPage>;
};

/** Change an alert; where a `version` is given, only if it is that one still (else 412). */
export const patch = (alert: Pick<Alert, 'id'>, operations: Operation[], version?: number): Promise<Alert> =>
  dataOf(
    api.PATCH('/api/v1/events/subscriptions/{subscription_id}', {
      params: { path: { subscription_id: alert.id } },
      body: operations as never,
      headers: {
        'Content-Type': 'application/json-patch+json',
        ...(version === undefined ? {} : { 'If-Match': `W/"${version}"` }),
      },
    }),
  ) as Promise<Alert>;

export const create = (alert: AlertRequest): Promise<Alert> =>
  dataOf(api.POST('/api/v1/events/subscriptions', { body: alert })) as Promise<Alert>;

/** Write an alert by its name; a dry run writes nothing and returns it as it would be. */
export const put = (alert: AlertRequest, isDryRun = false): Promise<Alert> =>
  dataOf(
    api.PUT('/api/v1/events/subscriptions', { params: { query: { dryRun: isDryRun } }, body: alert }),
  ) as Promise<Alert>;

export const remove = (id: string) =>
  api.DELETE('/api/v1/events/subscriptions/{subscription_id}', {
    params: { path: { subscription_id: id } },
  });

export const takeOver = (id: string) =>
  api.PUT('/api/v1/events/subscriptions/{subscription_id}/takeOver', {
    params: { path: { subscription_id: id } },
  });

export const editorsOf = async (id: string) =>
  (
    await dataOf(
      api.GET('/api/v1/events/subscriptions/{subscription_id}/editors', {
        params: { path: { subscription_id: id } },
      }),
    )
  )?.data ?? [];

/** Send a test message to a destination; resolves to what was answered. */
export const tryDestination = (destination: Destination): Promise<Trial> =>
  dataOf(
    api.POST('/api/v1/events/subscriptions/validation/destination', {
      body: { destination: destination as never },
    }),
  ) as Promise<Trial>;

export const MOST_FIRINGS = 500;
/** Return what an alert fired on in 30 days, the newest first. */
export const firings = async (id: string): Promise<AlertHistory[]> => {
  const query = { kind: 'firing' as const, since: '30d', limit: MOST_FIRINGS };
  const page = await dataOf(
    api.GET('/api/v1/events/subscriptions/{subscription_id}/history', {
      params: { path: { subscription_id: id }, query },
    }),
  );
  return page?.data ?? [];
};
