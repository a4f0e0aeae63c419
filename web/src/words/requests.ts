// The request of an alert: what people choose, without what the server adds; as an alert of a file has it.
import type { Alert, AlertRequest } from '../api/alerts';

const KEYS = [
  'name',
  'displayName',
  'description',
  'alertType',
  'enabled',
  'severity',
  'runbook',
  'expires',
  'toMeOnly',
  'trigger',
  'filteringRules',
  'config',
  'batchSize',
  'retries',
  'pollInterval',
] as const;
const DESTINATION_KEYS = [
  'name',
  'category',
  'type',
  'config',
  'enabled',
  'notifyDownstream',
  'downstreamDepth',
  'timeout',
  'readTimeout',
] as const;

const picked = (source: object, keys: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    keys.flatMap((key) => {
      const value = (source as Record<string, unknown>)[key];
      return value === undefined || value === null ? [] : [[key, value]];
    }),
  );

/** Return an alert as a request; `keepsIds` for a PUT, whose destinations keep their secrets by their id. */
export function requestOf(alert: Alert, { keepsIds = false } = {}): AlertRequest {
  const destinationKeys = keepsIds ? ['id', ...DESTINATION_KEYS] : DESTINATION_KEYS;
  return {
    ...picked(alert, KEYS),
    destinations: alert.destinations.map((destination) => picked(destination, destinationKeys)),
    ...(alert.notificationTemplate
      ? { notificationTemplate: picked(alert.notificationTemplate, ['id', 'type', 'name']) }
      : {}),
    ...(alert.owners?.length
      ? {
          owners: alert.owners.map(({ type, name, fullyQualifiedName }) => ({
            type,
            name: fullyQualifiedName ?? name,
          })),
        }
      : {}),
  } as unknown as AlertRequest;
}
