// The kinds of questions that a form of a condition asks: of a field, by a function with values, by yes and no.
import type { Node, Value } from './parse';

export type Choice = { value: string; label: string };
/** What values are looked up in; a question without has its own choices, or takes what is typed. */
export type Lookup = 'tags' | 'people' | 'owners' | 'domains' | 'services' | 'assets' | 'teams';

export type Question = {
  id: string;
  label: string;
  group: 'What happened' | 'The asset' | 'Quality and runs' | 'Who' | typeof AT_ITS_TIME;
  choices?: readonly Choice[];
  lookup?: Lookup;
  hint?: string;
  hasValues: boolean;
  write: (values: string[]) => string;
  read: (node: Node) => string[] | null;
  say: (values: string, isNot: boolean) => string;
};

/** Questions about the state at the times of a schedule: only alerts with one ask them, and never for its absence. */
export const AT_ITS_TIME = 'State at its time';

/** Return a text as a condition writes it. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

export const listed = (values: string[]): string =>
  values.length === 1 ? quoted(values[0]!) : `{${values.map(quoted).join(', ')}}`;

export const texts = (values: readonly Value[] | undefined): string[] | null =>
  values?.length && values.every((value) => typeof value === 'string') ? (values as string[]) : null;

export const choicesOf = (words: Record<string, string>): Choice[] =>
  Object.entries(words).map(([value, label]) => ({ value, label }));

export const is = (isNot: boolean): string => (isNot ? 'is not' : 'is');

/** A question about a field: `tier == 'Tier.Tier1'`; also read from the functions and methods that ask the same. */
export function ofField(field: string, functions: string[] = []) {
  return {
    hasValues: true,
    write: (values: string[]) => `${field} == ${listed(values)}`,
    read: (node: Node): string[] | null => {
      if (node.kind === 'compare' && node.path === field && ['==', 'in'].includes(node.operator))
        return texts(node.values);
      if (node.kind !== 'call' || node.values.length !== 1) return null;
      if (node.target === field && ['contains', 'containsAny'].includes(node.name))
        return texts(node.values[0]);
      return !node.target && functions.includes(node.name) ? texts(node.values[0]) : null;
    },
  };
}

/** A question that a function asks of texts: `matchAnySchema({'a', 'b'})`. */
export function ofFunction(name: string, others: string[] = []) {
  return {
    hasValues: true,
    write: (values: string[]) => `${name}(${listed(values)})`,
    read: (node: Node): string[] | null =>
      node.kind === 'call' &&
      !node.target &&
      [name, ...others].includes(node.name) &&
      node.values.length === 1
        ? texts(node.values[0])
        : null,
  };
}

/** A question with yes and no: `breaking()`. */
export function ofFlag(text: string, target: string, name: string, others: string[] = []) {
  return {
    hasValues: false,
    write: () => text,
    read: (node: Node): string[] | null => {
      if (node.kind === 'compare') return others.includes(node.path) && node.values[0] === true ? [] : null;
      return node.kind === 'call' && node.target === target && node.name === name ? [] : null;
    },
  };
}
