// An alert of the list with its counts of 30 days; undefined where they are not known yet.
import type { Alert, AlertHistory, NoiseRow } from '../../api/alerts';
import type { Bar } from '../../components/Bars.svelte';
import type { Health } from '../../words/health';

export type ListedAlert = {
  alert: Alert;
  noise: NoiseRow | undefined;
  health: Health | undefined;
  letterCount: number;
  isPartOfLetters: boolean;
};

const DAY_MS = 86_400_000;
export const DAYS = 30;

/** Return what an alert told on each of the last 30 days; noisy days, five times the median, in amber. */
export function barsOf(firings: readonly AlertHistory[], nowMs: number): Bar[] {
  const today = Math.floor(nowMs / DAY_MS);
  const counts = Array<number>(DAYS).fill(0);
  for (const { timestamp, notified } of firings) {
    const at = DAYS - 1 - (today - Math.floor(timestamp / DAY_MS));
    if (at >= 0 && at < DAYS) counts[at] = (counts[at] ?? 0) + (notified ?? 0);
  }
  const loud = noisyFrom(counts);
  return counts.map((count, index) => ({
    label: dayOf((today - DAYS + 1 + index) * DAY_MS),
    count,
    tone: count >= loud ? 'warn' : 'accent',
  }));
}

/** Return the count from which a day is noisy: five times the median of days with any, and ten at least. */
export function noisyFrom(counts: readonly number[]): number {
  const some = counts.filter((count) => count > 0).sort((a, b) => a - b);
  return some.length < 3 ? Infinity : Math.max(10, 5 * (some[Math.floor(some.length / 2)] ?? 0));
}

export const dayOf = (ms: number): string =>
  new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(ms);
