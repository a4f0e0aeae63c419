// How an alert fares: whether it delivers, is noisy, silent, or ends soon; the first that holds is what is said.
import type { Alert, NoiseRow } from '../api/alerts';
import { sayReason, sayWhom } from './alerts';
import { dayOf } from './dates';

export type Ill = 'failing' | 'noisy' | 'silent' | 'ending' | 'overlapping' | 'off';
export type Health = { ills: Ill[]; text: string; more?: string };
type Status = {
  status?: string;
  lastFailedReason?: string;
  lastFailedStatusCode?: number;
  nextAttempt?: number;
};

const DAY_MS = 86_400_000;
const COUNTED_MS = 30 * DAY_MS;
const SOON_MS = 31 * DAY_MS;
const NOISY_FROM = 50;
const NOISY_SHARE = 0.05;
const OVERLAPPING_FROM = 5;
const OVERLAPPING_SHARE = 0.5;
const BROKEN = new Set(['failed', 'retryLimitReached', 'awaitingRetry']);

export const illWords: Readonly<Record<Ill, string>> = {
  failing: 'Not delivering',
  noisy: 'Noisy',
  silent: 'Silent',
  ending: 'Ends soon',
  overlapping: 'Overlapping',
  off: 'Off',
};

/** Return the destinations of an alert whose last attempt failed. */
export const brokenOf = (alert: Alert) =>
  (alert.destinations ?? []).filter(
    (destination) =>
      destination.enabled !== false && BROKEN.has((destination.statusDetails as Status)?.status ?? ''),
  );

/** Return the share of notifications in the app that were opened; null where none came. */
export const openedShare = (noise: NoiseRow | undefined): number | null =>
  noise?.notifiedInApp ? (noise.opened ?? 0) / noise.notifiedInApp : null;

/** Return the share of what an alert told of lately on which a person acted; null where nobody can. */
export function actedShare(noise: NoiseRow | undefined): number | null {
  const { events, actedOn } = noise?.newest ?? { events: 0, actedOn: 0 };
  return events && (actedOn || noise?.notifiedInApp) ? actedOn / events : null;
}

/** Return how much of what an alert told of lately others told as well, and which: "48 of 92 sent by 2 others too". */
export function overlapOf(noise: NoiseRow | undefined): { text: string; names: string[] } | null {
  const newest = noise?.newest;
  if (!newest?.toldByOthers) return null;
  const names = newest.others.map((other) => other.displayName || other.name);
  const by = newest.otherAlerts === 1 ? (names[0] ?? '1 other') : `${newest.otherAlerts} others`;
  return { text: `${newest.toldByOthers} of ${newest.events} sent by ${by} too`, names };
}

/** Return since when an alert is there, which its id tells; 0 where it does not. Source: RFC 9562, 5.7. */
export const bornAt = ({ id }: Pick<Alert, 'id'>): number =>
  id[14] === '7' ? Number.parseInt(id.replace('-', '').slice(0, 12), 16) : 0;

export function healthOf(alert: Alert, noise: NoiseRow | undefined, nowMs: number): Health {
  const ills: Ill[] = [];
  const broken = brokenOf(alert);
  const share = openedShare(noise);
  if (alert.enabled === false) ills.push('off');
  if (broken.length) ills.push('failing');
  if ((noise?.notifiedInApp ?? 0) >= NOISY_FROM && (share ?? 1) < NOISY_SHARE) ills.push('noisy');
  const countedFrom = nowMs - COUNTED_MS;
  if (!noise?.fired && alert.enabled !== false && bornAt(alert) <= countedFrom) ills.push('silent');
  if (alert.expires && alert.expires - nowMs < SOON_MS) ills.push('ending');
  const { events = 0, toldByOthers = 0 } = noise?.newest ?? {};
  if (events >= OVERLAPPING_FROM && toldByOthers >= events * OVERLAPPING_SHARE) ills.push('overlapping');
  return { ills, ...said(ills, broken, noise, bornAt(alert)) };
}

function said(
  ills: Ill[],
  broken: ReturnType<typeof brokenOf>,
  noise: NoiseRow | undefined,
  bornMs: number,
): { text: string; more?: string } {
  if (ills.includes('off')) return { text: 'off', more: 'tells nobody' };
  if (ills.includes('failing')) {
    const status = broken[0]!.statusDetails as Status;
    const reason = sayReason(status.lastFailedReason, status.lastFailedStatusCode) || 'does not deliver';
    return { text: `${sayWhom(broken[0]!)}: ${reason}` };
  }
  if (ills.includes('noisy'))
    return { text: `noisy: ${noise?.opened ?? 0} of ${noise?.notifiedInApp} opened` };
  if (ills.includes('silent')) return { text: 'silent for 30 days' };
  if (!noise?.fired) return { text: `nothing to tell since it was made, ${dayOf(bornMs)}` };
  return { text: 'delivers' };
}

const steps: Record<string, string> = {
  match_stream: 'match and find people',
  streak_stream: 'match what depends on earlier results',
  search_stream: 'search index',
  lake: 'lake: the copy for SQL and backtests',
};
/** Return a reader of the log as the step that it does; one of an alert's queue as it is. */
export const stepOf = (reader: string): string => steps[reader] ?? reader;
