// Owners of an asset: its own, how they are written, and how those that it had are given back.
import { readEntity, type LoadedEntity, type Operation } from '../../api/assets';
import type { Reference } from '../../words/references';
import { save } from './editing';

/** Return the owners that an asset has itself, not those of what it lies in. */
export const ownersOf = (entity: LoadedEntity): readonly Reference[] =>
  (entity.owners ?? []).filter(({ inherited }) => !inherited);

/** Return the operations that write owners. */
export const writeOwners = (people: readonly Reference[]): Operation[] => [
  { op: 'add', path: '/owners', value: people.map(({ id, type }) => ({ id, type })) },
];

const idsOf = (people: readonly Reference[]) =>
  people
    .map(({ id }) => id)
    .sort()
    .join();

/** Give an asset the owners back that it had before mine; where others changed it since, return it, as it is. */
export async function giveBack(
  type: string,
  { fullyQualifiedName, name }: LoadedEntity,
  { mine, before }: { mine: readonly Reference[]; before: readonly Reference[] },
): Promise<LoadedEntity | null> {
  const newest = await readEntity(type, fullyQualifiedName ?? name);
  if (idsOf(ownersOf(newest)) !== idsOf(mine)) return newest;
  return save(type, newest, writeOwners(before));
}
