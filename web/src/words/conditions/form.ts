// A condition as a form: clauses joined by "and", each a row or several rows joined by "or". Both ways, nothing lost.
import { parseCondition, type Node } from './parse';
import type { Question } from './kinds';
import { questionOf, questions } from './questions';

export type Row = { question: string; isNot: boolean; values: string[] };
export type Clause = Row[];
export type Form = Clause[];

/** Return the form of a condition; null if a form cannot show it. An empty condition is an empty form. */
export function formOf(condition: string): Form | null {
  if (!condition.trim()) return [];
  const node = parseCondition(condition);
  if (!node) return null;
  const clauses = partsOf(node, 'and').map(clauseOf);
  return clauses.every((clause) => clause !== null) ? clauses : null;
}

/** Return the condition of a form; rows whose values are missing are left out. */
export function conditionOf(form: Form): string {
  const clauses = form.map((clause) => clause.filter(isComplete).map(writeRow)).filter((rows) => rows.length);
  return clauses
    .map((rows) => (rows.length > 1 && clauses.length > 1 ? `(${rows.join(' || ')})` : rows.join(' || ')))
    .join(' && ');
}

export const isComplete = (row: Row): boolean => !questionOf(row.question).hasValues || row.values.length > 0;

/** Return the parts of a condition as people say them: `is Tier 1`, `has a column removed or retyped`. */
export const saidOf = (form: Form): string[] =>
  form.map((clause) => clause.filter(isComplete).map(sayRow).join(' or ')).filter(Boolean);

/** Return what people call a value of a question: `Tier 1` of `Tier.Tier1`. */
export const labelOfValue = (question: Question, value: string): string =>
  question.choices?.find((choice) => choice.value === value)?.label ?? value;

const sayRow = (row: Row): string => {
  const question = questionOf(row.question);
  const labels = row.values.map((value) => labelOfValue(question, value));
  return question.say(joinWords(labels, 'or'), row.isNot);
};

/** Return words in a sentence: `a, b or c`. */
export const joinWords = (words: readonly string[], last: 'and' | 'or'): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;

const partsOf = (node: Node, kind: 'and' | 'or'): Node[] =>
  node.kind === kind ? node.parts.flatMap((part) => partsOf(part, kind)) : [node];

function clauseOf(node: Node): Clause | null {
  const rows: Clause = [];
  for (const part of partsOf(node, 'or')) {
    const row = rowOf(part, false);
    if (!row) return null;
    const like = rows.find(
      (one) => one.question === row.question && !one.isNot && !row.isNot && row.values.length,
    );
    if (like) like.values = [...new Set([...like.values, ...row.values])];
    else rows.push(row);
  }
  return rows;
}

function rowOf(node: Node, isNot: boolean): Row | null {
  if (node.kind === 'not') return rowOf(node.part, !isNot);
  if (node.kind === 'compare' && node.operator === '!=') return rowOf({ ...node, operator: '==' }, !isNot);
  for (const question of questions) {
    const values = question.read(node);
    if (values) return { question: question.id, isNot, values };
  }
  return null;
}

function writeRow(row: Row): string {
  const text = questionOf(row.question).write(row.values);
  if (!row.isNot) return text;
  return text.includes(' == ') ? text.replace(' == ', ' != ') : `!${text}`;
}
