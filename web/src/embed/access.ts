// Access of an embed: short-lived tokens from the page that shows it, and requests of Tocsin with them.
import { browserNow, learnTime } from '../words/now';

/** Where tokens come from: an address of the page's own server, or a function of the page. */
export type TokenSource = string | (() => Promise<string>);

const kept = new Map<TokenSource, Promise<string>>();

/** Return the token of a source, the same for all elements of a page; `stale` is one that no longer works. */
export async function tokenFrom(source: TokenSource, stale?: string): Promise<string> {
  const known = await kept.get(source)?.catch(() => undefined);
  if (known !== undefined && known !== stale) return known;
  const asked = kept.get(source);
  const next = typeof source === 'string' ? askHost(source) : source();
  if (asked === kept.get(source)) kept.set(source, next);
  next.catch(() => kept.delete(source));
  return next;
}

async function askHost(address: string): Promise<string> {
  const answer = await fetch(address, { cache: 'no-store', headers: { Accept: 'application/json' } });
  const body = (await answer.json().catch(() => null)) as { token?: string } | null;
  if (!answer.ok || typeof body?.token !== 'string') throw new Error('This page has no access to Tocsin.');
  return body.token;
}

/** Ask Tocsin; a token that has ended is replaced once. Resolves to what it answers. */
export async function ask<T>(server: string, source: TokenSource, path: string, method = 'GET'): Promise<T> {
  const send = async (token: string) => {
    const sentMs = browserNow();
    const answer = await fetch(`${server}/api/v1/embed/${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}` },
      credentials: 'omit',
      cache: 'no-store',
    }).catch(() => {
      throw new Error('Tocsin cannot be reached.');
    });
    learnTime(answer.headers, sentMs);
    return answer;
  };
  const token = await tokenFrom(source);
  let answer = await send(token);
  if (answer.status === 401) answer = await send(await tokenFrom(source, token));
  const body = (await answer.json().catch(() => null)) as (T & { message?: string }) | null;
  if (!answer.ok || body === null) throw new Error(body?.message ?? 'Tocsin cannot be reached.');
  return body;
}
