// The time of the server, by what it answers: clocks of browsers may be wrong by minutes.

/** By how much the clocks may differ unheeded: answers have whole seconds, and take their time. */
const TOLERANCE_MS = 5_000;
const SLOWEST_MS = 10_000;

let aheadMs = 0;

/** Return what time it is on the server, as far as this page knows: what its moments are compared with. */
export const serverNow = (): number => Date.now() + aheadMs;

/** Learn the server's time from an answer to what was sent `sentMs` by this browser's clock. */
export function learnTime(headers: Headers, sentMs: number): void {
  const receivedMs = Date.now();
  const toldMs = Date.parse(headers.get('Date') ?? '');
  const isOld = headers.has('Age') || receivedMs < sentMs || receivedMs - sentMs > SLOWEST_MS;
  if (Number.isNaN(toldMs) || isOld) return;
  const newAheadMs = Math.round(toldMs + 500 - (sentMs + receivedMs) / 2);
  if (Math.abs(newAheadMs) <= TOLERANCE_MS) aheadMs = 0;
  else if (Math.abs(newAheadMs - aheadMs) > TOLERANCE_MS) aheadMs = newAheadMs;
}

/** Return what this browser's clock says: for times that only this browser keeps, and to measure how long things take. */
export const browserNow = (): number => Date.now();
