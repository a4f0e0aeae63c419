// What happened to an asset, by day; the same said again in a row stands once, with how often.
import type { FeedEntry } from '../../api/assets';

export type Happening = { entry: FeedEntry; again: readonly FeedEntry[] };
export type Day = { day: string; happenings: Happening[] };

const dayFormat = new Intl.DateTimeFormat('en-GB', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
});

/** Gather entries, newest first, by day. */
export function daysOf(entries: readonly FeedEntry[]): Day[] {
  const days: Day[] = [];
  for (const entry of entries) {
    const day = dayFormat.format(entry.event.timestamp);
    if (days.at(-1)?.day !== day) days.push({ day, happenings: [] });
    const { happenings } = days.at(-1)!;
    const before = happenings.at(-1);
    if (before && isSame(before.entry, entry))
      happenings[happenings.length - 1] = { ...before, again: [...before.again, entry] };
    else happenings.push({ entry, again: [] });
  }
  return days;
}
const isSame = (one: FeedEntry, other: FeedEntry): boolean =>
  one.title === other.title &&
  one.event.userName === other.event.userName &&
  !one.reason &&
  !other.reason &&
  !one.breaking;

/** Return what changed, where the title does not say all of it. */
export function changesOf(entry: FeedEntry): string[] {
  const texts = (entry.semanticChanges ?? []).map(({ text }) => text ?? '');
  return entry.event.eventType === 'entityUpdated' && texts.length > 1 ? texts.slice(0, 5) : [];
}
