// Backtests: an alert judged on past events. One is started, read until it is over, and may be cancelled.
import { api, dataOf } from './client';
import type { components } from './schema';

export type Recipient = {
  channel: string;
  notified: number;
  because: string[];
  id?: string;
  name?: string;
  displayName?: string;
  target?: string;
  destinations?: string[];
};
export type BacktestResult = {
  events: number;
  matched: number;
  notifiedNobody: number;
  perDay: { date: string; matched: number }[];
  assetCount: number;
  assets: { id: string; type: string; fullyQualifiedName: string; matched: number }[];
  notified: number;
  merged: number;
  heldBack: number;
  recipientCount: number;
  recipients: Recipient[];
  channels: { channel: string; notified: number; recipients: number }[];
  samples: { id?: string; timestamp: number; eventType: string; entityFullyQualifiedName?: string }[];
  triggered: { id?: string; name?: string; notified: number; heldBack: number }[];
  states?: string;
  /** Alerts that told of the most of what matches, of the newest `compared` matches. */
  overlaps?: { id: string; name: string; matched: number }[];
  compared?: number;
};
export type Backtest = Omit<components['schemas']['Backtest'], 'result' | 'progress'> & {
  progress: { done?: number; total?: number };
  result?: BacktestResult;
};
export type BacktestRequest = { id: string } | object;

const FIRST_WAIT_S = 3;
const WAIT_S = 5;

export const start = (request: BacktestRequest, since: string): Promise<Backtest> =>
  dataOf(
    api.POST('/api/v1/events/subscriptions/backtest', {
      params: { query: { wait: FIRST_WAIT_S } },
      body: { ...request, since } as never,
    }),
  ) as unknown as Promise<Backtest>;

export const read = (id: string, wait = WAIT_S): Promise<Backtest> =>
  dataOf(
    api.GET('/api/v1/events/subscriptions/backtest/{backtest_id}', {
      params: { path: { backtest_id: id }, query: { wait } },
    }),
  ) as unknown as Promise<Backtest>;

export const cancel = (id: string) =>
  api.DELETE('/api/v1/events/subscriptions/backtest/{backtest_id}', {
    params: { path: { backtest_id: id } },
  });

export const isOver = ({ state }: Backtest): boolean => ['done', 'failed', 'cancelled'].includes(state);
