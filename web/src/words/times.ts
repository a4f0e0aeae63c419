// Times as people say them: relative up to a week, then the date; exact on hover.
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
  return new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    ...zoneOf(zone),
  }).format(atMs);
}

/** Return the exact time, with the zone. */
export function exactly(atMs: number, zone?: string): string {
  const parts: Intl.DateTimeFormatOptions = { dateStyle: 'full', timeStyle: 'long', ...zoneOf(zone) };
  return new Intl.DateTimeFormat('en-GB', parts).format(atMs);
}

const zoneOf = (zone?: string) => (zone ? { timeZone: zone } : {});
