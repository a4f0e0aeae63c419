// Days and times of the calendar, as dates of change requests, events and lists say them.
import { serverNow } from './now';

const dayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const longFormat = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long' });
const yearFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const clockFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const secondFormat = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const zoneFormat = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' });
const weekdayFormat = new Intl.DateTimeFormat('en-GB', { weekday: 'short' });

const DAY_MS = 86_400_000;
const isSameDay = (a: number, b: number): boolean =>
  new Date(a).toDateString() === new Date(b).toDateString();

/** Return a day: `9 Dec`, with the year where it is another than now's. */
export function dayOf(atMs: number, nowMs = serverNow()): string {
  const isThisYear = new Date(atMs).getFullYear() === new Date(nowMs).getFullYear();
  return (isThisYear ? dayFormat : yearFormat).format(atMs);
}

/** Return a day in full: `Wednesday, 2 December`. */
export const longDayOf = (atMs: number): string => longFormat.format(atMs);

/** Return a time of the day: `10:05`, or with seconds. */
export const clockOf = (atMs: number, hasSeconds = false): string =>
  (hasSeconds ? secondFormat : clockFormat).format(atMs);

/** Return what the zone of this browser is called at a time: `CET`, `BST`, `GMT-5`. */
export const zoneAt = (atMs: number): string =>
  zoneFormat.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? 'UTC';

/** Return a day as fields of dates have it, in the zone of this browser: `2026-12-14`. */
export const fieldDayOf = (atMs: number): string => new Date(atMs).toLocaleDateString('sv-SE');

/** Return when something happened, as short as it is clear: `08:47`, `Tue 18:40`, `3 Nov`. */
export function whenOf(atMs: number, nowMs = serverNow()): string {
  if (isSameDay(atMs, nowMs)) return clockOf(atMs);
  if (nowMs - atMs < 6 * DAY_MS && atMs < nowMs) return `${weekdayFormat.format(atMs)} ${clockOf(atMs)}`;
  return dayOf(atMs, nowMs);
}

/** Return when something to come ends: `18:30`, `tomorrow 09:00`, `Fri 4 Dec 09:00`, `3 Mar 2027`. */
export function endingOf(atMs: number, nowMs = serverNow()): string {
  if (isSameDay(atMs, nowMs)) return clockOf(atMs);
  if (untilOf(atMs, nowMs) === 'tomorrow') return `tomorrow ${clockOf(atMs)}`;
  if (atMs - nowMs < 14 * DAY_MS)
    return `${weekdayFormat.format(atMs)} ${dayOf(atMs, nowMs)} ${clockOf(atMs)}`;
  return dayOf(atMs, nowMs);
}

const MOMENT_IN_UTC = /(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}) UTC\b/g;

/** Return a sentence of the server with its moments in the reader's zone: `2026-12-14 19:47 UTC` is `14 Dec 20:47`. */
export const inOwnZone = (text: string, nowMs = serverNow()): string =>
  text.replace(MOMENT_IN_UTC, (_, day: string, time: string) => {
    const atMs = Date.parse(`${day}T${time}Z`);
    return `${dayOf(atMs, nowMs)} ${clockOf(atMs)}`;
  });

/** Return the distance to a day to come: `today`, `tomorrow`, `in 7 days`; of one that passed `3 days ago`. */
export function untilOf(atMs: number, nowMs = serverNow()): string {
  const startOf = (ms: number): number => new Date(ms).setHours(0, 0, 0, 0);
  const days = Math.round((startOf(atMs) - startOf(nowMs)) / DAY_MS);
  if (days === 0) return 'today';
  if (days === 1) return 'tomorrow';
  return days > 0 ? `in ${days} days` : `${-days} ${days === -1 ? 'day' : 'days'} ago`;
}

/** Return a figure with thin spaces: `18 944`. */
export const figure = (number: number): string =>
  number.toLocaleString('en-US', { maximumFractionDigits: 1 }).replaceAll(',', ' ');

/** Return a count with its noun: `1 event`, `62 events`. */
export const countOf = (count: number, noun: string, plural = `${noun}s`): string =>
  `${figure(count)} ${count === 1 ? noun : plural}`;

/** Return a span of time: `0.6 s`, `44 min`, `26 min`, `2 days`. */
export function spanOf(seconds: number): string {
  if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
