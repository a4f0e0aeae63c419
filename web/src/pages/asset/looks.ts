// When this browser last showed an asset to a person, and at which version: what changed since then stands first.
import { serverNow } from '../../words/now';

export type Look = { atMs: number; version: number };

const MOST = 300;
const keyOf = (userId: string) => `tocsin.looks.${userId}`;

function readLooks(userId: string): Record<string, Look> {
  try {
    return JSON.parse(localStorage.getItem(keyOf(userId)) ?? '{}') as Record<string, Look>;
  } catch {
    return {}; // not written by this version
  }
}

/** Return when a person last looked at an asset; null where that is not known. */
export const lookedAt = (userId: string, id: string): Look | null => readLooks(userId)[id] ?? null;

/** Note that a person looks at a version of an asset now; the oldest looks are forgotten. */
export function noteLook(userId: string, id: string, version: number): void {
  const looks = Object.entries({ ...readLooks(userId), [id]: { atMs: serverNow(), version } });
  looks.sort(([, one], [, other]) => other.atMs - one.atMs);
  try {
    localStorage.setItem(keyOf(userId), JSON.stringify(Object.fromEntries(looks.slice(0, MOST))));
  } catch {
    // storage is full or forbidden: nothing is said about the last look
  }
}
