// What a form of a condition can ask, in the words of people: how each question is written, read, and said.
import {
  AT_ITS_TIME,
  choicesOf,
  is,
  listed,
  ofField,
  ofFlag,
  ofFunction,
  texts,
  type Question,
} from './kinds';
import type { Node } from './parse';

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
  {
    id: 'stillFailing',
    label: 'Still fails',
    group: AT_ITS_TIME,
    ...ofFlag('stillFailing()', '', 'stillFailing'),
    say: (_, isNot) => (isNot ? 'does not fail at that time' : 'still fails at that time'),
  },
  {
    id: 'stillStale',
    label: 'Still without a success for',
    group: AT_ITS_TIME,
    choices: durations,
    ...ofFunction('stillStale'),
    say: (values, isNot) =>
      isNot
        ? `has had a success within ${values} at that time`
        : `has had no success for ${values} at that time`,
  },
  {
    id: 'stillWithoutOwner',
    label: 'Still has no owner',
    group: AT_ITS_TIME,
    ...ofFlag('stillWithoutOwner()', '', 'stillWithoutOwner'),
    say: (_, isNot) => (isNot ? 'has an owner at that time' : 'still has no owner at that time'),
  },
];

export const questionOf = (id: string): Question => questions.find((question) => question.id === id)!;
