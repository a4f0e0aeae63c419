// Words for change events, and their gathering by cause: one person's changes of neighbours within an hour are one row.
import type { ChangeEvent, Explanation } from '../api/events';
import { countOf, inOwnZone } from './dates';
import { nameOf, pathOf, stepsOf } from './names';
import { labelOf } from './types';

export type EventCause = { id: string; events: ChangeEvent[] };

const HOUR_MS = 3_600_000;

/** Return the kind of an event: `schema`, `description`, `quality`, or `created` and the like. */
export function kindsOf(event: ChangeEvent): string[] {
  const categories = [...new Set((event.semanticChanges ?? []).map(({ category }) => category))];
  if (categories.length) return categories;
  return [wordOf(event.eventType)];
}

/** Return a type of event in words: `entity created` of `entityCreated`. */
export const wordOf = (eventType: string): string =>
  eventType
    .replace(/^entity/, '')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();

const isSuiteOfTable = ({ entityType, entityFullyQualifiedName: fqn }: ChangeEvent): boolean =>
  entityType === 'testSuite' && stepsOf(fqn ?? '').length > 1 && nameOf(fqn) === 'testSuite';
const tableOfSuite = (event: ChangeEvent): string =>
  stepsOf(event.entityFullyQualifiedName ?? '').at(-2) ?? '';

/** Return what an event is about: `orders`, `tests of orders`. */
export function subjectOf(event: ChangeEvent): string {
  if (isSuiteOfTable(event)) return `tests of ${tableOfSuite(event)}`;
  return nameOf(event.entityFullyQualifiedName) || labelOf(event.entityType);
}

/** Return the title of an event without the name of its asset, which stands before it. */
export function whatOf(event: ChangeEvent): string {
  const name = isSuiteOfTable(event) ? tableOfSuite(event) : nameOf(event.entityFullyQualifiedName);
  const title = inOwnZone(event.title ?? wordOf(event.eventType));
  return title.startsWith(`${name}: `) ? title.slice(name.length + 2) : title;
}

/** Gather neighbours of a list, newest first: same person, same place, within an hour. */
export function causesOf(events: readonly ChangeEvent[]): EventCause[] {
  const causes: EventCause[] = [];
  const open = new Map<string, EventCause>();
  for (const event of events) {
    const key = `${event.userName ?? ''} ${placeOf(event)}`;
    const cause = open.get(key);
    if (cause && (cause.events.at(-1)?.timestamp ?? 0) - event.timestamp < HOUR_MS) cause.events.push(event);
    else {
      const next = { id: event.id, events: [event] };
      open.set(key, next);
      causes.push(next);
    }
  }
  return causes;
}

/** Return where the asset of an event lies; at the top its type. */
export const placeOf = (event: ChangeEvent): string =>
  pathOf(event.entityFullyQualifiedName) || labelOf(event.entityType);

/** Return what the events of a cause are about: the one asset, or the place where they lie; nothing at the top. */
export function headingOf({ events }: EventCause): string {
  const [first] = events;
  if (!first) return '';
  const isOne = events.every(({ entityId }) => entityId === first.entityId);
  return isOne ? subjectOf(first) : (stepsOf(first.entityFullyQualifiedName ?? '').at(-2) ?? '');
}

/** Return the heading of a cause of several events: `11 events of 7 tables`. */
export function causeTitleOf({ events }: EventCause): string {
  const assets = new Set(events.map(({ entityId }) => entityId));
  const types = new Set(events.map(({ entityType }) => entityType));
  if (assets.size === 1) return countOf(events.length, 'event');
  const [type] = types;
  const noun = types.size === 1 && type ? labelOf(type) : 'asset';
  return `${countOf(events.length, 'event')} of ${countOf(assets.size, noun)}`;
}

const channels: Record<string, string> = {
  ActivityFeed: 'in the app',
  Email: 'mail',
  GoogleChat: 'Google Chat',
  MsTeams: 'Teams',
};
/** Return a channel as people call it. */
export const channelOf = (type: string): string => channels[type] ?? type;

/** Return why an alert, or any, concerned a person, each with what stopped it, and whether that is so no longer. */
export function waysOf(
  explanation: Explanation | undefined,
  alertId: string | undefined,
): { says: string; isOpen: boolean }[] {
  const traces = (explanation?.alerts ?? []).filter(({ id }) => alertId === undefined || id === alertId);
  const ways = traces.flatMap(({ reached }) => (reached?.data ?? []).flatMap((who) => who.ways));
  const sayings = ways.map(({ reason, stoppedBy, hasEnded }) => ({
    says: [reason.sentence, hasEnded && 'so it was then, and is no longer', stoppedBy?.says]
      .filter(Boolean)
      .join('; '),
    isOpen: !stoppedBy,
  }));
  return [...new Map(sayings.map((each) => [each.says, each])).values()];
}
