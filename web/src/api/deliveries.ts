// Dead letters: messages that were given up, with their attempts, and what sends them again.
import { api, dataOf } from './client';
import type { components } from './schema';

export type Replay = components['schemas']['Replay'] & { progress: { done?: number; total?: number } };
type EventOfLetter = {
  id?: string;
  title?: string;
  entityType?: string;
  entityFullyQualifiedName?: string;
  timestamp?: number;
};
export type DeadLetter = Omit<components['schemas']['DeadLetter'], 'alert' | 'destination' | 'events'> & {
  alert: { id: string; name: string };
  destination: { id: string; type: string; category: string; name?: string; endpoint?: string };
  events: EventOfLetter[];
};
export type Attempt = {
  number: number;
  startedAt: number;
  durationMs?: number;
  outcome?: string;
  reason?: string;
  statusCode?: number | null;
  detail?: string;
  templateError?: string;
  responseBody?: string;
  answer?: string;
};
export type SentRequest = {
  method: string;
  address: string;
  headers?: Record<string, string>;
  body?: string;
};
export type Delivery = DeadLetter & {
  attempts: Attempt[];
  requests: SentRequest[];
  requestsNote?: string;
};

type Page = { data: DeadLetter[]; paging: { after?: string } };

/** Return a page of dead letters, the newest first; of one alert, by its name, or of all. */
export const deadLetters = (
  alert: string | undefined,
  after = '',
  limit = 30,
  reason?: 'forgotten',
): Promise<Page> =>
  dataOf(
    api.GET('/api/v1/events/deliveries', {
      params: {
        query: {
          limit,
          ...(alert ? { alert } : {}),
          ...(after ? { after } : {}),
          ...(reason ? { reason } : {}),
        },
      },
    }),
  ) as unknown as Promise<Page>;

export const read = (id: string): Promise<Delivery> =>
  dataOf(
    api.GET('/api/v1/events/deliveries/{message_id}', { params: { path: { message_id: id } } }),
  ) as unknown as Promise<Delivery>;

/** Send a dead letter again, behind what is due. */
export const replay = (message: string): Promise<Replay> =>
  dataOf(api.POST('/api/v1/events/deliveries/replays', { body: { message } })) as Promise<Replay>;

/** Let dead letters be none any more; their histories say who wanted that, and why. */
export const forget = (messages: string[], reason: string) =>
  dataOf(api.POST('/api/v1/events/deliveries/forget', { body: { messages, reason } }));

export const replayOf = (id: string): Promise<Replay> =>
  dataOf(
    api.GET('/api/v1/events/deliveries/replays/{replay_id}', { params: { path: { replay_id: id } } }),
  ) as Promise<Replay>;
