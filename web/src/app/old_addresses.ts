// Addresses in messages and of earlier versions: `/#/tables/{id}`, `/#/incidents/INC-7?opened=…` open the pages of today.
import { addressOf, typeOfCollection } from '../words/types';

export type OldAddress = { path: string } | { collection: string; id: string };

/** Return what the fragment of an address meant; null for one that is none of ours. */
export function parseFragment(fragment: string): { address: OldAddress; opened: string | null } | null {
  const [path = '', query] = fragment.replace(/^#/, '').split('?');
  if (!path.startsWith('/')) return null;
  const opened = new URLSearchParams(query).get('opened');
  const [, collection, id] = path.match(/^\/(.+)\/([0-9a-f-]{36})$/) ?? [];
  if (collection && id && collection !== 'events') return { address: { collection, id }, opened };
  return { address: { path }, opened };
}

/** Return the address today of an entity that an old one names by its id; null where there is no such entity. */
export async function addressOfId(collection: string, id: string): Promise<string | null> {
  const type = typeOfCollection(collection);
  if (!type) return null;
  const answer = await fetch(`/api/v1/${collection}/${id}?include=all`).catch(() => null);
  const entity = answer?.ok ? await answer.json() : null;
  return entity ? addressOf(type, entity.fullyQualifiedName ?? entity.name) : null;
}
