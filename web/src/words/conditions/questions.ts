// What a form of a condition can ask, in the words of people: how each question is written, read, and said.
import type { Node, Value } from './parse';

export type Choice = { value: string; label: string };
/** What values are looked up in; a question without has its own choices, or takes what is typed. */
export type Lookup = 'tags' | 'people' | 'owners' | 'domains' | 'services' | 'assets' | 'teams';

export type Question = {
  id: string;
  label: string;
  group: 'What happened' | 'The asset' | 'Quality and runs' | 'Who';
  choices?: readonly Choice[];
  lookup?: Lookup;
  hint?: string;
  hasValues: boolean;
  write: (values: string[]) => string;
  read: (node: Node) => string[] | null;
  say: (values: string, isNot: boolean) => string;
};

/** Return a text as a condition writes it. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const listed = (values: string[]): string =>
  values.length === 1 ? quoted(values[0]!) : `{${values.map(quoted).join(', ')}}`;

const texts = (values: readonly Value[] | undefined): string[] | null =>
  values?.length && values.every((value) => typeof value === 'string') ? (values as string[]) : null;

const choicesOf = (words: Record<string, string>): Choice[] =>
  Object.entries(words).map(([value, label]) => ({ value, label }));

const is = (isNot: boolean): string => (isNot ? 'is not' : 'is');

/** A question about a field: `tier == 'Tier.Tier1'`; also read from the functions and methods that ask the same. */
function ofField(field: string, functions: string[] = []) {
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
function ofFunction(name: string, others: string[] = []) {
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
function ofFlag(text: string, target: string, name: string, others: string[] = []) {
  return {
    hasValues: false,
    write: () => text,
    read: (node: Node): string[] | null => {
      if (node.kind === 'compare') return others.includes(node.path) && node.values[0] === true ? [] : null;
      return node.kind === 'call' && node.target === target && node.name === name ? [] : null;
    },
  };
}

const operations = choicesOf({ add: 'added', remove: 'removed', modify: 'retyped' });
const columnChange = {
  hasValues: true,
  write: (values: string[]) => `matchAnyChange('schema', ${listed(values)}, 'columns')`,
  read: (node: Node): string[] | null => {
    if (node.kind !== 'call' || node.name !== 'matchAnyChange' || node.values.length !== 3) return null;
    const [category, operation, target] = node.values;
    return category?.[0] === 'schema' && target?.[0] === 'columns' ? texts(operation) : null;
  },
};

const statuses = choicesOf({ Failed: 'failed', Aborted: 'aborted', Success: 'succeeded' });
const durations = choicesOf({
  '6h': '6 hours',
  '24h': '1 day',
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
});

export const questions: readonly Question[] = [
  {
    id: 'column',
    label: 'A column',
    group: 'What happened',
    choices: operations,
    ...columnChange,
    say: (values, isNot) => (isNot ? `has no column ${values}` : `has a column ${values}`),
  },
  {
    id: 'breaking',
    label: 'The change breaks readers',
    group: 'What happened',
    ...ofFlag('breaking()', '', 'breaking', ['isBreaking']),
    say: (_, isNot) => (isNot ? 'changes without breaking readers' : 'changes so that readers break'),
  },
  {
    id: 'announced',
    label: 'The change was announced',
    group: 'What happened',
    ...ofFlag('announced()', '', 'announced', ['isAnnounced']),
    say: (_, isNot) => (isNot ? 'changes unannounced' : 'changes as announced'),
  },
  {
    id: 'event',
    label: 'What happens',
    group: 'What happened',
    choices: choicesOf({
      entityCreated: 'created',
      entityUpdated: 'changed',
      entitySoftDeleted: 'deleted',
      entityDeleted: 'deleted for good',
      entityRestored: 'restored',
    }),
    ...ofField('eventType', ['matchAnyEventType']),
    say: (values, isNot) => `${is(isNot)} ${values}`,
  },
  {
    id: 'field',
    label: 'Changed field',
    group: 'What happened',
    choices: choicesOf({
      columns: 'columns',
      description: 'description',
      tags: 'tags',
      owners: 'owners',
      domains: 'domain',
      displayName: 'display name',
      extension: 'custom properties',
      followers: 'followers',
    }),
    ...ofField('fieldChanged', ['matchAnyFieldChange']),
    say: (values, isNot) => (isNot ? `changes other than in ${values}` : `has its ${values} changed`),
  },
  {
    id: 'tier',
    label: 'Tier',
    group: 'The asset',
    choices: [1, 2, 3, 4, 5].map((tier) => ({ value: `Tier.Tier${tier}`, label: `Tier ${tier}` })),
    ...ofField('tier', ['matchAnyTier']),
    say: (values, isNot) => `${is(isNot)} ${values}`,
  },
  {
    id: 'tag',
    label: 'Tag',
    group: 'The asset',
    lookup: 'tags',
    ...ofField('tags', ['matchAnyTag']),
    say: (values, isNot) => (isNot ? `has no tag ${values}` : `has the tag ${values}`),
  },
  {
    id: 'asset',
    label: 'Asset',
    group: 'The asset',
    lookup: 'assets',
    ...ofFunction('matchAnyEntityFqn'),
    say: (values, isNot) => `${is(isNot)} ${values}`,
  },
  {
    id: 'service',
    label: 'Service',
    group: 'The asset',
    lookup: 'services',
    ...ofField('service', ['matchAnyService']),
    say: (values, isNot) => `${is(isNot)} in ${values}`,
  },
  {
    id: 'schema',
    label: 'Schema',
    group: 'The asset',
    hint: 'name of a schema',
    ...ofFunction('matchAnySchema'),
    say: (values, isNot) => `${is(isNot)} in the schema ${values}`,
  },
  {
    id: 'domain',
    label: 'Domain',
    group: 'The asset',
    lookup: 'domains',
    ...ofField('domains', ['matchAnyDomain']),
    say: (values, isNot) => `${is(isNot)} in the domain ${values}`,
  },
  {
    id: 'owner',
    label: 'Owner',
    group: 'The asset',
    lookup: 'owners',
    ...ofField('owners', ['matchAnyOwnerName']),
    say: (values, isNot) => `${is(isNot)} owned by ${values}`,
  },
  {
    id: 'unchanged',
    label: 'Unchanged before for',
    group: 'The asset',
    choices: durations,
    ...ofFunction('olderThan'),
    say: (values, isNot) => (isNot ? `had changed within ${values}` : `had not changed for ${values}`),
  },
  {
    id: 'test',
    label: 'Test',
    group: 'Quality and runs',
    choices: statuses,
    ...ofField('testStatus', ['matchTestResult']),
    say: (values, isNot) => (isNot ? `has no test that ${values}` : `has a test that ${values}`),
  },
  {
    id: 'run',
    label: 'Run',
    group: 'Quality and runs',
    choices: choicesOf({ Failed: 'failed', PartialSuccess: 'partly succeeded', Successful: 'succeeded' }),
    ...ofField('pipelineStatus', ['matchPipelineState', 'matchIngestionPipelineState']),
    say: (values, isNot) => (isNot ? `has no run that ${values}` : `has a run that ${values}`),
  },
  {
    id: 'first',
    label: 'It is the first failure',
    group: 'Quality and runs',
    ...ofFlag('firstFailure()', '', 'firstFailure'),
    say: (_, isNot) => (isNot ? 'does not fail for the first time' : 'fails for the first time'),
  },
  {
    id: 'resolved',
    label: 'It is well again',
    group: 'Quality and runs',
    ...ofFlag('resolved()', '', 'resolved'),
    say: (_, isNot) => (isNot ? 'is not well again' : 'is well again'),
  },
  {
    id: 'late',
    label: 'No success for',
    group: 'Quality and runs',
    choices: durations,
    ...ofFunction('noSuccessFor'),
    say: (values, isNot) => (isNot ? `had a success within ${values}` : `had no success for ${values}`),
  },
  {
    id: 'actor',
    label: 'Changed by',
    group: 'Who',
    lookup: 'people',
    ...ofField('userName', ['matchUpdatedBy', 'changedBy']),
    say: (values, isNot) => `${is(isNot)} changed by ${values}`,
  },
  {
    id: 'bot',
    label: 'A bot made the change',
    group: 'Who',
    ...ofFlag('isBot()', '', 'isBot', ['isBot']),
    say: (_, isNot) => `${is(isNot)} changed by a bot`,
  },
  {
    id: 'owned',
    label: 'The person told owns it',
    group: 'Who',
    ...ofFlag('user.owns(entity)', 'user', 'owns'),
    say: (_, isNot) => `${is(isNot)} owned by the person told`,
  },
  {
    id: 'followed',
    label: 'The person told follows it',
    group: 'Who',
    ...ofFlag('user.follows(entity)', 'user', 'follows'),
    say: (_, isNot) => `${is(isNot)} followed by the person told`,
  },
];

export const questionOf = (id: string): Question => questions.find((question) => question.id === id)!;
