// Client of the API, typed by its OpenAPI document. The session is a cookie; what changes something carries its CSRF token.
import createClient, { type Middleware } from 'openapi-fetch';
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

const middleware: Middleware = {
  onRequest({ request }) {
    if (request.method !== 'GET' && session.csrfToken) request.headers.set('X-CSRF-Token', session.csrfToken);
    return request;
  },
  async onResponse({ response }) {
    if (response.ok) return;
    if (response.status === 401) session.end();
    const body = await response
      .clone()
      .json()
      .catch(() => null);
    throw new ApiError(response.status, body?.message ?? `The server answered ${response.status}.`);
  },
  onError() {
    return new ApiError(0, 'Tocsin cannot be reached. What you see may be old; it is tried again.');
  },
};

export const api = createClient<paths>({ baseUrl: '/', credentials: 'same-origin' });
api.use(middleware);

/** Return the data of an answer, whose errors were thrown. */
export async function dataOf<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}
