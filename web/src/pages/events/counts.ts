// Counts over the events that are loaded: by a facet, and over time.
import type { ChangeEvent } from '../../api/events';
import type { Bar } from '../../components/Bars.svelte';
import { whenOf } from '../../words/dates';

const PARTS = 48;

/** Return how many events have each value. */
export function countsBy(
  events: readonly ChangeEvent[],
  valuesOf: (event: ChangeEvent) => readonly string[],
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const event of events)
    for (const value of valuesOf(event)) if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** Return bars of equal spans of time, the oldest first; one with a breaking change is amber. */
export function barsOf(events: readonly ChangeEvent[]): Bar[] {
  const first = events.at(-1)?.timestamp;
  const last = events[0]?.timestamp;
  if (first === undefined || last === undefined || last <= first) return [];
  const widthMs = (last - first + 1) / PARTS;
  const bars = Array.from({ length: PARTS }, (_, at): Bar => ({
    label: whenOf(first + at * widthMs),
    count: 0,
  }));
  for (const event of events) {
    const bar = bars[Math.min(PARTS - 1, Math.max(0, Math.floor((event.timestamp - first) / widthMs)))];
    if (!bar) continue;
    bar.count += 1;
    if (event.breaking) bar.tone = 'warn';
  }
  return bars;
}
