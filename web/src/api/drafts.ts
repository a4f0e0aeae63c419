// What is asked about an alert that is being written: when it sends next, and how its messages look.
import type { Alert } from './alerts';
import { api, dataOf } from './client';
import type { components } from './schema';

export type Trigger = components['schemas']['Trigger'];
export type PreviewChannel = components['schemas']['MessagePreviewRequest']['channel'];
export type PreviewOf = { eventId: string } | { resource: string; eventType?: 'scheduledCheck' };

/** Return the next three times at which a schedule sends, epoch milliseconds; none at once. */
export const nextTimes = async (trigger: Trigger): Promise<number[]> =>
  (
    await dataOf(
      api.POST('/api/v1/events/subscriptions/validation/trigger', { body: { trigger: trigger as never } }),
    )
  )?.next ?? [];

/** Return a message of an alert about an event as a channel shows it; nothing is sent. */
export const previewOf = async (
  alert: Partial<Alert>,
  channel: PreviewChannel,
  about: PreviewOf,
  category?: string,
): Promise<Record<string, unknown>> => {
  const { name, severity, runbook, notificationTemplate, trigger } = alert;
  const written = { name, severity, runbook, notificationTemplate, trigger };
  const body = {
    alert: written as never,
    channel,
    ...about,
    ...(category ? { category: category as never } : {}),
  };
  const answer = await dataOf(api.POST('/api/v1/events/subscriptions/preview', { body }));
  return (answer?.message ?? {}) as Record<string, unknown>;
};
