// Times as people say them: relative up to a week, then the date; exact on hover.
import { serverNow } from './now';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Return how long ago something happened: `now`, `44 min`, `7 h`, `2 days`, `2 Sep 2024`. */
export function ago(atMs: number, nowMs: number, zone?: string): string {
  const passedMs = Math.max(0, nowMs - atMs);
  if (passedMs < MINUTE_MS) return 'now';
  if (passedMs < HOUR_MS) return `${Math.floor(passedMs / MINUTE_MS)} min`;
  if (passedMs < DAY_MS) return `${Math.floor(passedMs / HOUR_MS)} h`;
  if (passedMs < 7 * DAY_MS) {
    const days = Math.floor(passedMs / DAY_MS);
    return days === 1 ? '1 day' : `${days} days`;
  }
  return formatOf('day', { day: 'numeric', month: 'short', year: 'numeric' }, zone).format(atMs);
}

/** Return the exact time, with the zone. */
export const exactly = (atMs: number, zone?: string): string =>
  formatOf('exact', { dateStyle: 'full', timeStyle: 'long' }, zone).format(atMs);

/**
 * Return a time of the day that holds in a zone: `09:00`, or `09:00 UTC`, `09:00 Lisbon time` where that is not the
 * time here. All other times are those of this browser.
 */
export function timeIn(clock: string, zone: string, nowMs = serverNow()): string {
  const zonedNow = (of?: string) =>
    formatOf('minute', { day: 'numeric', hour: '2-digit', minute: '2-digit' }, of).format(nowMs);
  if (zonedNow(zone) === zonedNow()) return clock;
  const city = zone.split('/').at(-1)!.replaceAll('_', ' ');
  return `${clock} ${zone.includes('/') ? `${city} time` : city}`;
}

// A format takes longer to make than a row of a list to draw: each is made once for a zone.
const formats = new Map<string, Intl.DateTimeFormat>();
function formatOf(name: string, parts: Intl.DateTimeFormatOptions, zone = ''): Intl.DateTimeFormat {
  const key = `${name} ${zone}`;
  const format =
    formats.get(key) ?? new Intl.DateTimeFormat('en-GB', { ...parts, ...(zone ? { timeZone: zone } : {}) });
  formats.set(key, format);
  return format;
}
