// Client of the API, typed by its OpenAPI document. The session is a cookie; what changes something carries its CSRF token.
import createClient, { type Middleware } from 'openapi-fetch';
import { browserNow, learnTime } from '../words/now';
import { isOwn, outbox } from './outbox.svelte';
import type { paths } from './schema';
import { session } from './session.svelte';

/** What the server, or the way to it, refused; `status` is 0 where no answer came. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const AWAY = 'Tocsin cannot be reached. What you see may be old; it is tried again.';
const WAITS = 'There is no connection: this waits, and is done by itself once there is.';
const REFUSED =
  'There is no connection, and others would be told of this, so it does not wait: do it again once there is.';

const copies = new Map<string, Request>(); // a request that was sent cannot be read again
const sentTimes = new WeakMap<Request, number>();
const pathOf = (request: Request) => new URL(request.url).pathname;

const middleware: Middleware = {
  onRequest({ request, id }) {
    if (request.method !== 'GET' && isOwn(pathOf(request))) copies.set(id, request.clone());
    if (request.method !== 'GET' && session.csrfToken) request.headers.set('X-CSRF-Token', session.csrfToken);
    sentTimes.set(request, browserNow());
    return request;
  },
  async onResponse({ request, response, id }) {
    copies.delete(id);
    const sentMs = sentTimes.get(request);
    if (sentMs !== undefined) learnTime(response.headers, sentMs);
    if (response.ok) return;
    if (response.status === 401) session.end();
    const body = await response
      .clone()
      .json()
      .catch(() => null);
    throw new ApiError(response.status, body?.message ?? `The server answered ${response.status}.`);
  },
  async onError({ request, id }) {
    if (request.method === 'GET') return new ApiError(0, AWAY);
    const copy = copies.get(id);
    copies.delete(id);
    if (!copy) return new ApiError(0, REFUSED);
    await outbox.add(copy);
    return new ApiError(0, WAITS);
  },
};

export const api = createClient<paths>({ baseUrl: '/', credentials: 'same-origin' });
api.use(middleware);

/** Return the data of an answer, whose errors were thrown. */
export async function dataOf<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}
