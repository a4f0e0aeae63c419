// What a task about an asset is about: a part of it, and the tags that this part has now.
import type { Label, LoadedEntity } from '../../api/assets';
import { placeOf } from './editing';
import { partsOf } from './shape';

/** Return the link to an asset, or to a column of it, or to a field of either. */
export const linkTo = (type: string, fqn: string, column = '', field = ''): string =>
  `<#E::${type}::${fqn}${column && `::columns::${column}`}${field && `::${field}`}>`;

/** Return the column that a link is about; empty where it is about the asset. */
export const columnOf = (link: string): string =>
  /::columns::(.+?)(::(description|tags))?>$/.exec(link)?.[1] ?? '';

/** Return the tags of an asset, or of a column of it. */
export function labelsOf(type: string, entity: LoadedEntity, column: string): readonly Label[] {
  if (!column) return entity.tags ?? [];
  for (const { list, path } of partsOf(type, entity)) {
    const place = placeOf(list, column, path);
    if (place) return place.member.tags ?? [];
  }
  return [];
}

/** Return the tags that a task proposes; null where it proposes none that can be read. */
export function parseLabels(text: string | undefined): Label[] | null {
  try {
    const list: unknown = JSON.parse(text ?? '');
    const isLabel = (each: unknown) => typeof (each as Label | null)?.tagFQN === 'string';
    return Array.isArray(list) && list.every(isLabel) ? (list as Label[]) : null;
  } catch {
    return null;
  }
}
