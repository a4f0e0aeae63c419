// What the page of Tocsin's health says first.
import { countOf, spanOf } from '../../words/dates';

type Delays = { medianSeconds?: number | null | undefined; p95Seconds?: number | null | undefined };

/** Return what is amiss, and how long events took to the bell in the newest period that had any. */
export function summaryOf(
  problems: readonly string[],
  sick: number,
  newest: Delays | undefined,
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
