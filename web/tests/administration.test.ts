// Passwords that are made in the browser.
import { describe, expect, it } from 'vitest';
import type { ServerSetting } from '../src/api/admin';
import { freshPassword } from '../src/pages/admin/passwords';
import { isChosen, labelOf, valueText } from '../src/pages/admin/settings';
import { sickOf } from '../src/pages/admin/sick';
import { judgedPeriod, summaryOf } from '../src/pages/admin/summary';

describe('a fresh password', () => {
  it('has 20 letters and digits in groups, and is never the same', () => {
    const made = Array.from({ length: 50 }, freshPassword);
    for (const password of made)
      expect(password).toMatch(/^([A-HJ-NP-Za-km-z2-9]{5}-){3}[A-HJ-NP-Za-km-z2-9]{5}$/);
    expect(new Set(made).size).toBe(50);
  });
});

describe('settings of the server', () => {
  const setting: ServerSetting = {
    name: 'egress_allow',
    variable: 'TOCSIN_EGRESS_ALLOW',
    value: ['10.0.0.0/8'],
    origin: 'file',
    default: [],
    description: 'Private ranges webhooks may reach.',
    isSecret: false,
  };
  it('are words, and found by all words of a search', () => {
    expect(labelOf('worker_poll_s')).toBe('Worker poll (s)');
    expect([null, true, [], ['a', 'b'], { a: 1 }, '', 0].map(valueText)).toEqual([
      'not set',
      'yes',
      'none',
      'a, b',
      'a = 1',
      'empty',
      '0',
    ]);
    expect(isChosen(setting, 'WEBHOOKS 10.0', true)).toBe(true);
    expect(isChosen(setting, 'webhooks mail', false)).toBe(false);
    expect(isChosen({ ...setting, origin: 'default' }, '', true)).toBe(false);
  });
});

it('destinations that do not deliver stand once, with why the newest message failed', () => {
  const letter = (recipient: string, reason: string, updatedAt: number) => ({
    id: `${recipient} ${updatedAt}`,
    alert: { name: 'A' },
    destination: { type: 'Email', category: 'Owners' },
    recipient,
    reason,
    updatedAt,
  });
  expect(sickOf([letter('b', 'refused', 3), letter('a', 'x', 2), letter('b', 'y', 1)])).toMatchObject([
    { name: 'b', reason: 'refused', count: 2 },
    { name: 'a', count: 1 },
  ]);
});

it('all is well only if nothing is amiss and notifications come as soon as promised', () => {
  const took = ' From an event to the bell: 2.0 s at the median, 4.0 s for 95 of 100.';
  expect(summaryOf([], 0, undefined, 5)).toBe('All is well.');
  expect(summaryOf([], 0, { medianSeconds: 2, p95Seconds: 4 }, 5)).toBe(`All is well.${took}`);
  const late = { medianSeconds: 90, p95Seconds: 120 };
  expect(summaryOf([], 0, late, 5)).toMatch(/^Notifications came later than the promised 5 s\. From/);
  expect(summaryOf([], 2, late, 5)).toMatch(/^2 destinations do not deliver\. Notifications came later/);
  expect(summaryOf(['The pipeline is down.'], 2, late, 5)).toMatch(/^The pipeline is down\. From/);
});

it('what is said of delays is judged by the last hour, however late notifications were before', () => {
  const minutes = (count: number) => count * 60_000;
  const nowMs = minutes(600);
  const period = (begins: number, notifications: number) => ({ begins: minutes(begins), notifications });
  const late = period(400, 9);
  expect(judgedPeriod([late, period(415, 0)], minutes(15), nowMs)).toBeUndefined();
  const running = period(590, 3);
  expect(judgedPeriod([late, period(560, 1), running], minutes(15), nowMs)).toBe(running);
  const partly = period(530, 2);
  expect(judgedPeriod([late, partly, period(545, 0)], minutes(15), nowMs)).toBe(partly);
});
