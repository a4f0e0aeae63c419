// The differences of two versions as rows: which field, what it was, what it is, and how one of them is brought back.
import type { ChangeEvent } from '../../api/events';
import type { Entity, Label, Member, Operation } from '../../api/assets';
import { quoted, stepsOf } from '../../words/names';
import type { Reference } from '../../words/references';
import { placeOf } from './editing';

type Change = { name?: string; oldValue?: unknown; newValue?: unknown };
export type Difference = {
  key: string;
  label: string;
  part: string; // of the column or field: description, dataType …; empty for the whole
  before: string;
  after: string;
  isBreaking: boolean;
  restore: Operation | null; // null where the field cannot be brought back by itself
};

type Description = {
  fieldsAdded?: readonly Change[];
  fieldsUpdated?: readonly Change[];
  fieldsDeleted?: readonly Change[];
  breakingReasons?: readonly { field?: string }[];
  renames?: readonly { field: string; to: string }[]; // of columns, as announced
};

const parsed = (value: unknown): unknown => {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value; // a text that begins like JSON
  }
};

/** Return a value as people read it. */
export function textOf(value: unknown): string {
  const known = parsed(value);
  if (known === null || known === undefined) return '';
  if (Array.isArray(known)) return known.map(textOf).join(', ');
  if (typeof known !== 'object') return String(known);
  const { displayName, tagFQN, name, fullyQualifiedName, dataType, description } = known as Record<
    string,
    unknown
  >;
  const called = displayName ?? tagFQN ?? name ?? fullyQualifiedName;
  if (called === undefined) return JSON.stringify(known);
  return [called, dataType, description].filter(Boolean).map(String).join(' ');
}

/** Return the differences to a version, one for each column that came or went and for each other field. */
export function differencesOf(description: Description, now: Entity, from?: Entity): Difference[] {
  const breaking = new Set((description.breakingReasons ?? []).map(({ field }) => field));
  const renames = renamesOf(description);
  const rows: Difference[] = renames.map(({ field, was, to }) => ({
    key: `${field}.renamed`,
    label: to,
    part: 'column renamed',
    before: was,
    after: to,
    isBreaking: breaking.has(field), // despite an objection, say
    restore: null,
  }));
  const add = (name: string, before: unknown, after: unknown) => {
    const { label, part } = wordsOf(name);
    const isGone = (each: Member) =>
      renames.some((one) => one.list === name && each.name === (before === undefined ? one.to : one.was));
    const known = parsed(before ?? after);
    const kept = Array.isArray(known) && renames.length ? known.filter((each) => !isGone(each)) : known;
    if (Array.isArray(known) && known.length && !(kept as unknown[]).length) return;
    if (before === undefined) after = kept;
    else if (after === undefined) before = kept;
    const members = listOf(name, kept);
    for (const member of members ?? [null]) {
      const old = member && before !== undefined ? member : member ? undefined : before;
      const field = member ? `columns.${member.name}` : name;
      rows.push({
        key: `${name}.${member?.name ?? ''}.${rows.length}`,
        label: member?.name ?? label,
        part: member ? (before === undefined ? 'column added' : 'column removed') : part,
        before: member ? (before === undefined ? '' : textOf(old)) : textOf(before),
        after: member ? (before === undefined ? textOf(member) : '') : textOf(after),
        isBreaking: [...breaking].some((each) => each === field || (!!each && field.startsWith(`${each}.`))),
        restore: restoreOf(name, parsed(before), member, { now, from: from ?? now }),
      });
    }
  };
  for (const { name = '', oldValue } of description.fieldsDeleted ?? []) add(name, oldValue ?? '', undefined);
  for (const { name = '', oldValue, newValue } of description.fieldsUpdated ?? [])
    add(name, oldValue, newValue);
  for (const { name = '', newValue } of description.fieldsAdded ?? []) add(name, undefined, newValue);
  return rows.sort((one, other) => Number(other.isBreaking) - Number(one.isBreaking));
}

/** Return the columns that were renamed as announced: the list each is in, and both names. */
const renamesOf = ({ renames = [] }: Description) =>
  renames.map(({ field, to }) => {
    const steps = stepsOf(field);
    return { field, list: steps.slice(0, -1).map(quoted).join('.'), was: steps.at(-1)!, to };
  });

function listOf(name: string, value: unknown): Member[] | null {
  const known = parsed(value);
  return name === 'columns' && Array.isArray(known) ? (known as Member[]) : null;
}

const partWords: Record<string, string> = {
  dataType: 'type',
  dataTypeDisplay: 'type as shown',
  arrayDataType: 'type of elements',
  dataLength: 'length',
  displayName: 'display name',
};

function wordsOf(name: string): { label: string; part: string } {
  const steps = stepsOf(name);
  if (steps.length < 2 || !/^(columns|tasks|schemaFields|fields|mlFeatures)$/.test(steps[0]!))
    return { label: name, part: '' };
  return {
    label: steps.slice(1, -1).join('.') || steps.at(-1)!,
    part: partWords[steps.at(-1)!] ?? steps.at(-1)!,
  };
}

type Documents = { now: Entity; from: Entity };
const columnsOf = (entity: Entity): Member[] => (entity.columns as Member[] | undefined) ?? [];

/** Return the change that brings one field back as it was; null where only the whole version can be. */
function restoreOf(
  name: string,
  before: unknown,
  member: Member | null,
  { now, from }: Documents,
): Operation | null {
  const columns = columnsOf(now);
  if (member) {
    const index = columns.findIndex((each) => each.name === member.name);
    if (before === undefined) return index < 0 ? null : { op: 'remove', path: `/columns/${index}` };
    return index < 0 ? { op: 'add', path: '/columns/-', value: member } : null;
  }
  const [, column, part] = name.match(/^columns\.(.+)\.(\w+)$/) ?? [];
  if (column && part) {
    const place = placeOf(columns, column, '/columns');
    const value = part === 'tags' ? ownOf(placeOf(columnsOf(from), column, '')?.member.tags) : (before ?? '');
    return place && { op: 'add', path: `${place.pointer}/${part}`, value };
  }
  if (name === 'tags') return { op: 'add', path: '/tags', value: ownOf(from.tags) };
  if (name === 'owners' || name === 'domains')
    return { op: 'add', path: `/${name}`, value: ownReferencesOf(from[name]) };
  if (name === 'description' || (name === 'displayName' && before !== undefined))
    return { op: 'add', path: `/${name}`, value: before ?? '' };
  return null;
}

const rights: Record<string, string> = {
  description: 'EditDescription',
  tags: 'EditTags',
  owners: 'EditOwners',
  displayName: 'EditDisplayName',
};
/** Return whether a person with these rights may bring a field back by itself. */
export function mayRestore(restore: Operation | null, may: (operation: string) => boolean): boolean {
  const right = rights[restore?.path.split('/').at(-1) ?? ''];
  return right !== undefined && may(right);
}
// What is derived or inherited comes back by itself.
const ownOf = (labels: readonly Label[] = []) => labels.filter(({ labelType }) => labelType !== 'Derived');
const ownReferencesOf = (list: readonly Reference[] = []) =>
  list.filter(({ inherited }) => !inherited).map(({ id, type }) => ({ id, type }));

type Made = Pick<ChangeEvent, 'id' | 'eventType' | 'previousVersion' | 'currentVersion'>;
/** Return the event that made a version; answers, announcements and results about it happen to a version, but make none. */
export const eventOf = (events: readonly Made[], version: number): Made | undefined =>
  events.find(
    ({ eventType, currentVersion, previousVersion }) =>
      currentVersion === version &&
      (eventType === 'entityCreated' || (previousVersion !== undefined && previousVersion !== version)),
  );
