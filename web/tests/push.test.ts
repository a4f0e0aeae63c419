import { afterEach, expect, test, vi } from 'vitest';
import { api } from '../src/api/client';
import { sendTest } from '../src/api/push';
import { sayReason } from '../src/words/alerts';

afterEach(() => vi.restoreAllMocks());

test('why a push service refused is said in words, with its status', async () => {
  const statusDetails: object[] = [
    { status: 'Failed', reason: 'recipientGone', statusCode: 410 },
    { status: 'Failed', reason: 'connectionFailed' },
    { status: 'Success', statusCode: 201 },
  ];
  vi.spyOn(api, 'POST').mockImplementation((async () => ({
    data: { statusDetails: statusDetails.shift() },
    response: new Response(),
  })) as never);
  const refusals = [await sendTest(), await sendTest(), await sendTest()];
  expect(refusals).toEqual([
    { reason: 'recipientGone', statusCode: 410 },
    { reason: 'connectionFailed', statusCode: null },
    null,
  ]);
  expect(sayReason(refusals[1]!.reason, refusals[1]!.statusCode)).toBe('could not connect');
});
