// What was done without a connection: acts that concern only oneself wait in this browser, and are done later in order.
// What notifies others never waits: it may be wrong by then. Next: client.ts, which puts requests in.
import { browserNow } from '../words/now';
import { session } from './session.svelte';
import { inTurn } from './turns';

/** A request as it waits; `atMs` is when it was made. */
export type WaitingAct = { method: string; path: string; body: string; userId: string; atMs: number };

const KEY = 'tocsin.outbox';
const LONGEST_MS = 24 * 3_600_000;
const MOST = 200;
const OWN =
  /^\/api\/v1\/users\/[^/]+\/(notifications\/(marks|seen)|follows|unfollow|mutes|following\/|recommendations\/|searches)/;

/** Return whether a request changes only what its person is told and shown. */
export const isOwn = (path: string): boolean => OWN.test(path);

class Outbox {
  acts = $state<readonly WaitingAct[]>(read());

  /** Keep a request until there is a connection again. */
  async add(request: Request): Promise<void> {
    const path = new URL(request.url).pathname + new URL(request.url).search;
    const body = await request.text();
    const act = { method: request.method, path, body, userId: session.userId, atMs: browserNow() };
    this.#keep([...read(), act].slice(-MOST));
  }

  /** Note what another tab has kept or done. */
  refresh(): void {
    this.acts = read();
  }

  /** Do what waits, once, whichever tab is first; resolves to how many were done and what was refused. */
  async send(): Promise<{ done: number; refusals: readonly string[] }> {
    return inTurn(KEY, async () => {
      let done = 0;
      const refusals: string[] = [];
      for (let act = this.#next(); act; act = this.#next()) {
        const answer = await send(act);
        if (answer === 'away') break;
        this.#keep(read().filter((waiting) => !isSame(waiting, act!)));
        if (answer === 'done') done += 1;
        else refusals.push(answer.refusal);
      }
      return { done, refusals };
    });
  }

  #next(): WaitingAct | undefined {
    return read().find(({ userId, atMs }) => userId === session.userId && browserNow() - atMs < LONGEST_MS);
  }

  #keep(acts: readonly WaitingAct[]): void {
    const fresh = acts.filter(({ atMs }) => browserNow() - atMs < LONGEST_MS);
    localStorage.setItem(KEY, JSON.stringify(fresh));
    this.acts = fresh;
  }
}

const isSame = (one: WaitingAct, other: WaitingAct): boolean =>
  one.userId === other.userId &&
  one.atMs === other.atMs &&
  one.path === other.path &&
  one.body === other.body;

async function send(act: WaitingAct): Promise<'done' | 'away' | { refusal: string }> {
  const headers = { 'Content-Type': 'application/json', 'X-CSRF-Token': session.csrfToken };
  const init = { method: act.method, headers, ...(act.body ? { body: act.body } : {}) };
  const answer = await fetch(act.path, init).catch(() => null);
  if (!answer || answer.status === 401 || answer.status >= 500 || answer.status === 429) return 'away';
  if (answer.ok) return 'done';
  const document = await answer.json().catch(() => null);
  return { refusal: document?.message ?? `The server answered ${answer.status}.` };
}

function read(): WaitingAct[] {
  try {
    const acts: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(acts) ? acts : [];
  } catch {
    return []; // written by something else
  }
}

export const outbox = new Outbox();
