import { beforeEach, expect, test, vi } from 'vitest';
import { ApiError, api, dataOf } from '../src/api/client';
import { isOwn, outbox } from '../src/api/outbox.svelte';
import { session } from '../src/api/session.svelte';

// Addresses of the application have no host of their own, which requests outside of a browser need.
vi.hoisted(() => {
  const Whole = globalThis.Request;
  globalThis.Request = class extends Whole {
    constructor(input: RequestInfo | URL, init?: RequestInit) {
      super(typeof input === 'string' ? new URL(input, 'http://tocsin.example') : input, init);
    }
  };
});

const MARKS = '/api/v1/users/u1/notifications/marks';
const answer = (status: number, body: unknown = {}) => new Response(JSON.stringify(body), { status });
const away = () => Promise.reject(new TypeError('Failed to fetch'));

beforeEach(() => {
  localStorage.clear();
  outbox.refresh();
  session.userId = 'u1';
  Object.defineProperty(navigator, 'locks', {
    configurable: true,
    value: { request: (_: string, _options: object, doing: () => unknown) => doing() },
  });
});

test.each([
  [MARKS, true],
  ['/api/v1/users/u1/follows', true],
  ['/api/v1/users/u1/mutes', true],
  ['/api/v1/incidents/INC-1/acknowledge', false],
  ['/api/v1/changes', false],
  ['/api/v1/users/u1', false],
  ['/api/v1/feed/users/u1/mutes', false],
])('%s waits without a connection: %s', (path, waits) => expect(isOwn(path)).toBe(waits));

const markDone = () =>
  dataOf(
    api.POST('/api/v1/users/{user_id}/notifications/marks', {
      params: { path: { user_id: 'u1' } },
      body: { ids: ['n1'], as: 'done' } as never,
    }),
  );
const acknowledge = () =>
  dataOf(
    api.PUT('/api/v1/incidents/{incident}/acknowledge', {
      params: { path: { incident: 'INC-1' } },
      body: {},
    }),
  );

test('what concerns only me waits and is done once, in order; what others are told of is refused', async () => {
  const fetched = vi.fn(away);
  vi.stubGlobal('fetch', fetched);
  await expect(markDone()).rejects.toThrow(/this waits, and is done by itself/);
  await expect(acknowledge()).rejects.toThrow(/others would be told of this/);
  await expect(acknowledge()).rejects.toBeInstanceOf(ApiError);
  expect(outbox.acts.map(({ path }) => path)).toEqual([MARKS]);
  expect(await outbox.send()).toEqual({ done: 0, refusals: [] });
  expect(outbox.acts).toHaveLength(1);
  fetched.mockImplementation(() => Promise.resolve(answer(200)) as never);
  expect(await outbox.send()).toEqual({ done: 1, refusals: [] });
  expect(JSON.parse((fetched.mock.lastCall as unknown as [string, { body: string }])[1].body)).toEqual({
    ids: ['n1'],
    as: 'done',
  });
  expect(await outbox.send()).toEqual({ done: 0, refusals: [] });
});

test('what is refused later is said and goes, what is another person’s or a day old is never sent', async () => {
  const old = Date.now() - 25 * 3_600_000;
  const act = { method: 'PUT', path: MARKS, body: '{}', userId: 'u1', atMs: Date.now() };
  localStorage.setItem(
    'tocsin.outbox',
    JSON.stringify([{ ...act, atMs: old }, { ...act, userId: 'u2' }, act]),
  );
  outbox.refresh();
  const fetched = vi.fn(() => Promise.resolve(answer(404, { message: 'gone' })));
  vi.stubGlobal('fetch', fetched);
  expect(await outbox.send()).toEqual({ done: 0, refusals: ['gone'] });
  expect(fetched).toHaveBeenCalledTimes(1);
  expect(outbox.acts.map(({ userId }) => userId)).toEqual(['u2']);
  localStorage.setItem('tocsin.outbox', '{"no": "list"}');
  outbox.refresh();
  expect(outbox.acts).toEqual([]);
});
