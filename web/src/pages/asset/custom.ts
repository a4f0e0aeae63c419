// Properties that an organisation has added to a type of asset: how each is edited, and what an edit writes.
import type { CustomProperty } from '../../api/contents';
import type { Reference } from '../../words/references';

type TextEditor = 'line' | 'text' | 'whole' | 'number' | 'time' | 'choice' | 'choices';
type PartsEditor = 'reference' | 'references' | 'interval' | 'link' | 'table';
export type Editor = TextEditor | PartsEditor;

const editors: Readonly<Record<string, Editor>> = {
  string: 'line',
  email: 'line',
  duration: 'line',
  'date-cp': 'line',
  'dateTime-cp': 'line',
  'time-cp': 'line',
  markdown: 'text',
  sqlQuery: 'text',
  integer: 'whole',
  number: 'number',
  timestamp: 'time',
  entityReference: 'reference',
  entityReferenceList: 'references',
  timeInterval: 'interval',
  'hyperlink-cp': 'link',
  'table-cp': 'table',
};

/** Return how a property is edited in place; undefined where its type is not known. */
export function editorOf({ propertyType, customPropertyConfig }: CustomProperty): Editor | undefined {
  if (propertyType?.name !== 'enum') return editors[propertyType?.name ?? ''];
  return choicesIn(customPropertyConfig)?.multiSelect ? 'choices' : 'choice';
}

type Config = CustomProperty['customPropertyConfig'];
const choicesIn = (given: Config): Choices | undefined =>
  typeof given?.config === 'object' && !Array.isArray(given.config) ? (given.config as Choices) : undefined;
type Choices = { values?: string[]; multiSelect?: boolean };

/** Return the values that a property may have. */
export const choicesOf = ({ customPropertyConfig }: CustomProperty): readonly string[] =>
  choicesIn(customPropertyConfig)?.values ?? [];

/** Return the form that a date has: `yyyy-MM-dd`. */
export const formOf = ({ customPropertyConfig: given }: CustomProperty): string =>
  typeof given?.config === 'string' ? given.config : '';

/** Return the types of what a reference may point to; none where any may be. */
export const targetsOf = ({ customPropertyConfig: given }: CustomProperty): readonly string[] =>
  Array.isArray(given?.config) ? given.config.map(String) : [];

/** Return the columns of a property that is a table. */
export function tableColumnsOf({ customPropertyConfig: given }: CustomProperty): readonly string[] {
  const columns = (given?.config as { columns?: unknown } | undefined)?.columns;
  return Array.isArray(columns) ? columns.map(String) : [];
}

/** What is edited: the texts of fields, or the rows of a table, or references. */
export type Draft = {
  texts: readonly string[];
  rows?: readonly Row[];
  references?: readonly Reference[];
};
export type Row = Readonly<Record<string, string>>;
type Interval = { start?: unknown; end?: unknown };
type Link = { url?: unknown; displayText?: unknown };
type Rows = { rows?: readonly Record<string, unknown>[] };

const rowsIn = (value: unknown): readonly Row[] =>
  ((value as Rows | undefined)?.rows ?? []).map((row) =>
    Object.fromEntries(Object.entries(row).map(([column, each]) => [column, String(each ?? '')])),
  );

/** Return what an edit begins with. */
export function draftOf(editor: Editor, value: unknown): Draft {
  if (editor === 'reference') return { texts: [], references: value ? [value as Reference] : [] };
  if (editor === 'references') return { texts: [], references: (value as Reference[] | undefined) ?? [] };
  if (editor === 'table') return { texts: [], rows: rowsIn(value) };
  if (editor === 'interval') {
    const { start, end } = (value ?? {}) as Interval;
    return { texts: [start, end].map((atMs) => textsOf('time', atMs)[0] ?? '') };
  }
  if (editor !== 'link') return { texts: textsOf(editor, value) };
  const { url, displayText } = (value ?? {}) as Link;
  return { texts: [String(url ?? ''), String(displayText ?? '')] };
}

/** Return what an edit writes, as the type of the property has it; undefined takes it away.
 *
 * Throws an error where parts of the value are missing. */
export function writtenOf(property: CustomProperty, { texts, rows = [], references = [] }: Draft): unknown {
  const editor = editorOf(property)!;
  const [first = '', second = ''] = texts.map((text) => text.trim());
  switch (editor) {
    case 'reference':
      return references[0] && bare(references[0]);
    case 'references':
      return references.length ? references.map(bare) : undefined;
    case 'interval':
      if (!first && !second) return undefined;
      if (!first || !second) throw new Error('An interval needs a beginning and an end.');
      return intervalOf(new Date(first).getTime(), new Date(second).getTime());
    case 'link':
      if (!first && second) throw new Error('A link needs its address.');
      return first ? { url: first, ...(second ? { displayText: second } : {}) } : undefined;
    case 'table': {
      const filled = rows.filter((row) => Object.values(row).some((cell) => cell.trim()));
      return filled.length ? { columns: tableColumnsOf(property), rows: filled } : undefined;
    }
    default:
      return valueOf(editor, texts);
  }
}
const bare = ({ id, type }: Reference) => ({ id, type });
function intervalOf(start: number, end: number): { start: number; end: number } {
  if (end < start) throw new Error('The end must not be before the beginning.');
  return { start, end };
}

/** Return what an edit writes: the value that was typed, as its type has it; undefined takes it away. */
export function valueOf(editor: TextEditor, texts: readonly string[]): unknown {
  const filled = texts.map((text) => text.trim()).filter(Boolean);
  const [first] = filled;
  if (first === undefined) return undefined;
  if (editor === 'choice' || editor === 'choices') return filled;
  if (editor === 'whole' || editor === 'number') return Number(first);
  return editor === 'time' ? new Date(first).getTime() : first;
}

/** Return the texts that an edit begins with. */
export function textsOf(editor: TextEditor, value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.map(String);
  if (editor !== 'time') return [String(value)];
  const atMs = Number(value);
  return [new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().replace('Z', '')];
}

/** Return whether an edit would write what there is; what answers add to references counts for nothing. */
export const isSame = (value: unknown, before: unknown): boolean => formed(value) === formed(before);
const formed = (value: unknown): string | undefined =>
  JSON.stringify(value, (key, each: unknown) => (key === 'href' || key === 'deleted' ? undefined : each));

type Operation = { op: 'add' | 'remove'; path: string; value?: unknown };

/** Return the operations that write one property of an asset, which may have none yet. */
export function writeOf(extension: object | undefined, name: string, value: unknown): Operation[] {
  const path = `/extension/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const has = extension && name in extension;
  if (value === undefined) return has ? [{ op: 'remove', path }] : [];
  return extension
    ? [{ op: 'add', path, value }]
    : [{ op: 'add', path: '/extension', value: { [name]: value } }];
}
