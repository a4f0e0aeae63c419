// What people and teams are called whose log-in names an answer has: looked up together, once, as far as one may see them.
import { SvelteMap } from 'svelte/reactivity';
import { api, dataOf } from './client';
import { session } from './session.svelte';

const WAIT_MS = 20;
const MOST = 50;

const displayNames = new SvelteMap<string, string>();
let wanted = new Set<string>();
let asked = new Set<string>();
let generation = 0; // of the person who is logged in: answers to another are dropped

/** Return the display name of a person or team, if it is known; it is looked up once, and comes later. */
export function displayNameOf(name: string, type: 'user' | 'team' = 'user'): string | undefined {
  if (session.state === 'open' && name && !asked.has(name)) {
    if (!wanted.size) setTimeout(() => void lookUp(), WAIT_MS);
    asked.add(name);
    wanted.add(name);
  }
  return displayNames.get(`${type} ${name}`);
}

/** Forget all names: another person may see others. */
export function forgetPeople(): void {
  generation++;
  displayNames.clear();
  wanted = new Set();
  asked = new Set();
}

async function lookUp(): Promise<void> {
  const begun = generation;
  const names = [...wanted];
  wanted = new Set();
  for (let at = 0; at < names.length && begun === generation; at += MOST)
    await lookUpOf(names.slice(at, at + MOST));
}

type Named = { name: string; displayName?: string; entityType: string };
async function lookUpOf(names: readonly string[]): Promise<void> {
  const begun = generation;
  const phrases = names.map((name) => `"${name.replace(/[\\"]/g, '\\$&')}"`);
  const query = { q: `name.keyword:(${phrases.join(' OR ')})`, index: 'user,team', size: 2 * MOST };
  const answer = await dataOf(api.GET('/api/v1/search/query', { params: { query } })).catch(() => null);
  if (begun !== generation) return;
  if (!answer) names.forEach((name) => asked.delete(name));
  for (const hit of answer?.hits.hits ?? []) {
    const { name, displayName, entityType } = hit._source as Named;
    if (displayName) displayNames.set(`${entityType} ${name}`, displayName);
  }
}
