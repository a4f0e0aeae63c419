// Saving what was edited in place: a change that another person made meanwhile is never replaced.
import { patchEntity, readEntity, type LoadedEntity, type Member, type Operation } from '../../api/assets';
import { ApiError } from '../../api/client';
import { quoted } from '../../words/names';

/** Save a change of an entity as it was read; return what it is now if another person was first, else null. */
export async function save(
  type: string,
  begun: LoadedEntity,
  operations: Operation[],
  why = '',
): Promise<LoadedEntity | null> {
  try {
    await patchEntity(type, begun, operations, why);
    return null;
  } catch (error) {
    if (error instanceof ApiError && error.status === 412)
      return readEntity(type, begun.fullyQualifiedName ?? begun.name);
    throw error;
  }
}

export type Place = { member: Member; pointer: string };

/** Return a column by its path in the asset, and where it is in the document; null where it is gone. */
export function placeOf(list: readonly Member[], path: string, pointer: string): Place | null {
  for (const [index, member] of list.entries()) {
    const name = quoted(member.name);
    const at = `${pointer}/${index}`;
    if (path === name) return { member, pointer: at };
    if (path.startsWith(`${name}.`))
      return placeOf(member.children ?? [], path.slice(name.length + 1), `${at}/children`);
  }
  return null;
}
