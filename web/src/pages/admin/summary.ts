// What the page of Tocsin's health says first.
import { countOf, spanOf } from '../../words/dates';

type Period = {
  begins: number;
  notifications: number;
  medianSeconds?: number | null | undefined;
  p95Seconds?: number | null | undefined;
};
const HOUR_MS = 3_600_000;

/** Return the period to judge by: the newest of those that had notifications and lie in the last hour, at least in part. */
export const judgedPeriod = <Of extends Period>(
  periods: readonly Of[],
  lengthMs: number,
  nowMs: number,
): Of | undefined =>
  periods.findLast(({ begins, notifications }) => notifications && begins + lengthMs >= nowMs - HOUR_MS);

/** Return what is amiss, and how long events took to the bell of late; earlier delays are history, and in the chart. */
export function summaryOf(
  problems: readonly string[],
  sick: number,
  newest: Pick<Period, 'medianSeconds' | 'p95Seconds'> | undefined,
  promisedS: number,
): string {
  const took = newest
    ? ` From an event to the bell: ${spanOf(newest.medianSeconds ?? 0)} at the median, ${spanOf(newest.p95Seconds ?? 0)} for 95 of 100.`
    : '';
  if (problems.length) return problems.join(' ') + took;
  const late =
    (newest?.p95Seconds ?? 0) > promisedS
      ? ` Notifications came later than the promised ${promisedS} s.`
      : '';
  if (sick) return `${countOf(sick, 'destination does', 'destinations do')} not deliver.${late}${took}`;
  return `${late.trim() || 'All is well.'}${took}`;
}
