import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { browserNow, learnTime, serverNow } from '../src/words/now';
import { ago } from '../src/words/times';

const MINUTE_MS = 60_000;
const START_MS = Date.UTC(2026, 11, 1, 9, 31);

/** Answer as a server does whose clock is ahead of the browser's by this much. */
function answerFrom(aheadMs: number, { tookMs = 200, headers = {} } = {}): void {
  const sentMs = browserNow();
  vi.advanceTimersByTime(tookMs);
  const date = new Date(browserNow() + aheadMs - tookMs / 2).toUTCString();
  learnTime(new Headers({ Date: date, ...headers }), sentMs);
}

beforeEach(() => {
  vi.useFakeTimers({ now: START_MS });
  answerFrom(0);
});
afterEach(() => vi.useRealTimers());

test('the time of a browser whose clock is right is left as it is', () => {
  answerFrom(900);
  expect(serverNow()).toBe(browserNow());
});

test.each([10, -10, 180])('a clock that is wrong by %i minutes changes no relative time', (minutes) => {
  answerFrom(minutes * MINUTE_MS);
  expect(Math.abs(serverNow() - browserNow() - minutes * MINUTE_MS)).toBeLessThan(1_000);
  const happenedMs = browserNow() + minutes * MINUTE_MS - 14.5 * MINUTE_MS;
  expect(ago(happenedMs, serverNow())).toBe('14 min');
});

test('answers a little apart do not let the time jump', () => {
  answerFrom(10 * MINUTE_MS);
  const aheadMs = serverNow() - browserNow();
  answerFrom(10 * MINUTE_MS + 1_500);
  expect(serverNow() - browserNow()).toBe(aheadMs);
});

test('a clock that is put right is trusted again', () => {
  answerFrom(10 * MINUTE_MS);
  answerFrom(0);
  expect(serverNow()).toBe(browserNow());
});

test('what a cache kept, what took long and what has no time teach nothing', () => {
  answerFrom(10 * MINUTE_MS, { headers: { Age: '600' } });
  answerFrom(10 * MINUTE_MS, { tookMs: 11_000 });
  learnTime(new Headers(), browserNow());
  learnTime(new Headers({ Date: 'yesterday' }), browserNow());
  expect(serverNow()).toBe(browserNow());
});
