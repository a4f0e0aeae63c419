// Sentences about change requests: what is to change, how it stands, what an answer means.
import type { Answer, ChangeRequest, Consumer, Told } from '../api/changes';
import { dayOf, untilOf } from './dates';
import { nameOf } from './names';

type Tone = 'plain' | 'danger' | 'warn' | 'ok';
type Standing = { text: string; tone: Tone };

/** Return what is to change as a heading: `Remove email from orders`. */
export function titleOf(change: ChangeRequest): string {
  const asset = change.entity.displayName || nameOf(change.entity.fullyQualifiedName);
  const what = change.column ? `${change.column} of ${asset}` : asset;
  switch (change.kind) {
    case 'removal':
      return change.column ? `Remove ${change.column} from ${asset}` : `Remove ${asset}`;
    case 'type':
      return `Change the type of ${what} to ${change.newValue}`;
    case 'rename':
      return `Rename ${what} to ${change.newValue}`;
    case 'deprecation':
      return `Deprecate ${what}`;
  }
}

export type Column = { name: string; dataTypeDisplay?: string; dataType?: string; children?: Column[] };
const LONGEST_TYPE = 40;

/** Return the columns of a table by their paths, each followed by those in it: `address`, `address.city`. */
export const columnChoicesOf = (columns: readonly Column[], within = ''): { path: string; type: string }[] =>
  columns.flatMap(({ name, dataTypeDisplay, dataType = '', children = [] }) => [
    { path: within + name, type: shortOf(dataTypeDisplay || dataType) },
    ...columnChoicesOf(children, `${within}${name}.`),
  ]);
const shortOf = (type: string): string =>
  type.length > LONGEST_TYPE ? `${type.slice(0, LONGEST_TYPE - 1)}…` : type;

/** Return what happens on the date, in one word: `removed`. */
export const doneWordOf = (kind: ChangeRequest['kind']): string =>
  ({ removal: 'removed', type: 'new type', rename: 'renamed', deprecation: 'deprecated' })[kind];

/** Return how it stands from the date on: `gone`, `DECIMAL(12,2)`. */
export const afterOf = (change: ChangeRequest): string =>
  ({
    removal: 'gone',
    type: change.newValue ?? '',
    rename: change.newValue ?? '',
    deprecation: 'still there, deprecated',
  })[change.kind];

/** Return whether readers break unless they act. */
export const isBreaking = (change: ChangeRequest): boolean => change.kind !== 'deprecation';

const outcomes: Record<NonNullable<ChangeRequest['outcome']>, Standing> = {
  asAnnounced: { text: 'done as announced', tone: 'ok' },
  early: { text: 'done earlier than announced', tone: 'warn' },
  otherwise: { text: 'done otherwise than announced', tone: 'warn' },
  objected: { text: 'done despite an objection', tone: 'warn' },
};

/** Return where a request stands, as a chip says it. */
export function standingOf(change: ChangeRequest): Standing {
  if (change.status === 'done') return outcomes[change.outcome ?? 'asAnnounced'];
  if (change.status === 'withdrawn') return { text: 'withdrawn', tone: 'plain' };
  if (change.status === 'due') return { text: 'due, not done', tone: 'warn' };
  return { text: 'announced', tone: 'plain' };
}

/** Return how many have answered: `7 of 9 have answered, 2 open`. */
export function answeredOf({ answers }: Pick<ChangeRequest, 'answers'>): string {
  if (answers.total === 0) return 'nobody reads it';
  const open = answers.open ? `, ${answers.open} open` : '';
  return `${answers.total - answers.open} of ${answers.total} have answered${open}`;
}

export const answerWords: Record<Answer, { says: string; button: string; tone: Tone }> = {
  ready: { says: 'ready', button: 'We are ready', tone: 'ok' },
  notAffected: { says: 'not affected', button: 'Not affected', tone: 'ok' },
  needsTime: { says: 'needs time', button: 'We need until…', tone: 'warn' },
  objects: { says: 'objects', button: 'Object…', tone: 'warn' },
};

/** Return the answer of a consumer, or that it is open and how long still. */
export function verdictOf(consumer: Consumer, change: ChangeRequest): Standing {
  if (consumer.answer) {
    const { says, tone } = answerWords[consumer.answer.answer];
    return { text: says, tone };
  }
  if (consumer.answeredBy.length === 0) return { text: 'nobody answers', tone: 'warn' };
  if (change.status !== 'announced') return { text: 'no answer', tone: 'warn' };
  return { text: `open, due ${untilOf(change.date)}`, tone: 'warn' };
}

/** Return what stands beside an answer: `needs until 16 Dec`, or the day it was given. */
export function besideAnswerOf(consumer: Consumer): string {
  if (!consumer.answer) return '';
  const { until, comment, timestamp } = consumer.answer;
  if (until) return `needs until ${dayOf(until)}`;
  return comment ? `“${comment}”` : dayOf(timestamp);
}

/** Return how far away a consumer reads: `2 steps`; a follower reads nothing. */
export const stepsOf = (consumer: Consumer): string =>
  consumer.basis === 'follow' ? 'follows it' : consumer.level === 1 ? '1 step' : `${consumer.level} steps`;

/** Return how far the news of a change is: `read 24 Nov`, `told 23 Nov, not read`; nothing if I may not know. */
export function toldOf({ told }: Pick<Consumer, 'told'>): string {
  const [newest] = told;
  if (!newest) return '';
  const reads = told.flatMap(({ readAt }) => (readAt === undefined ? [] : [readAt]));
  if (reads.length) return `read ${dayOf(Math.max(...reads))}`;
  return `${newest.kind === 'reminded' ? 'reminded' : 'told'} ${dayOf(newest.timestamp)}, not read`;
}

const toldStatus: Record<string, string> = {
  unread: 'not read',
  read: 'read',
  off: 'kept, not shown',
  pending: 'is to be sent',
  awaitingRetry: 'is tried again',
  awaitingReplay: 'is tried again',
  queued: 'is to be collected',
  failed: 'not delivered',
  retryLimitReached: 'not delivered',
};
/** Return how far one notification is: `read 24 Nov`, `delivered`. */
export const deliveryOf = ({ status, readAt }: Pick<Told, 'status' | 'readAt'>): string =>
  readAt === undefined ? (toldStatus[status] ?? status) : `read ${dayOf(readAt)}`;

const steps: Record<string, string> = {
  announced: 'announced it',
  answered: 'answered',
  commented: 'wrote',
  moved: 'moved the date',
  withdrawn: 'withdrew it',
  reminded: 'Those open were reminded',
  asked: 'The date came, it was not done, and the author was asked',
  missing: 'The column is missing on the date',
  done: 'The change was made',
};
/** Return what a step of the time line says. */
export const stepWordOf = (kind: string): string => steps[kind] ?? kind;

/** Return what I answered, as the end of a sentence: `: ready`, `: 2 ready, 1 objects`; nothing unless all are loaded. */
export function ownAnswersOf(mine: readonly Pick<Consumer, 'answer'>[], count: number): string {
  const answers = mine.flatMap(({ answer }) => answer ?? []);
  if (!answers.length || answers.length < count) return '';
  const counts = new Map<string, number>();
  for (const { answer, until } of answers) {
    const says = until ? `needs until ${dayOf(until)}` : answerWords[answer].says;
    counts.set(says, (counts.get(says) ?? 0) + 1);
  }
  const parts = [...counts].map(([says, times]) => (counts.size === 1 ? says : `${times} ${says}`));
  return `: ${parts.join(', ')}`;
}
