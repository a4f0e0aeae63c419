// Properties that an organisation has added to a type of asset: how each is edited, and what an edit writes.
import type { CustomProperty } from '../../api/contents';

export type Editor = 'line' | 'text' | 'whole' | 'number' | 'time' | 'choice' | 'choices';

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
};

/** Return how a property is edited in place; undefined of those that only a program writes, as tables and references. */
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

/** Return what an edit writes: the value that was typed, as its type has it; undefined takes it away. */
export function valueOf(editor: Editor, texts: readonly string[]): unknown {
  const filled = texts.map((text) => text.trim()).filter(Boolean);
  const [first] = filled;
  if (first === undefined) return undefined;
  if (editor === 'choice' || editor === 'choices') return filled;
  if (editor === 'whole' || editor === 'number') return Number(first);
  return editor === 'time' ? new Date(first).getTime() : first;
}

/** Return the texts that an edit begins with. */
export function textsOf(editor: Editor, value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.map(String);
  if (editor !== 'time') return [String(value)];
  const atMs = Number(value);
  return [new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().replace('Z', '')];
}

/** Return whether an edit would write what there is. */
export const isSame = (value: unknown, before: unknown): boolean =>
  JSON.stringify(value) === JSON.stringify(before);

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
