// When this person was here last, in this browser: what they did within half an hour is one visit.
const SAME_VISIT_MS = 30 * 60_000;
const DAY_MS = 86_400_000;

type Visits = { lastMs: number; beforeMs: number | null };

/** Note that a person is here, and return when their visit before ended; a day ago where none is known. */
export function noteVisit(userId: string, nowMs: number, store: Storage = localStorage): number {
  const key = `tocsin.visit.${userId}`;
  const known = parse(store.getItem(key));
  const beforeMs =
    known === null ? null : nowMs - known.lastMs > SAME_VISIT_MS ? known.lastMs : known.beforeMs;
  store.setItem(key, JSON.stringify({ lastMs: nowMs, beforeMs } satisfies Visits));
  return beforeMs ?? nowMs - DAY_MS;
}

function parse(text: string | null): Visits | null {
  try {
    const visits = JSON.parse(text ?? 'null');
    return typeof visits?.lastMs === 'number' ? visits : null;
  } catch {
    return null; // written by something else
  }
}
