// An alert in words: what it is about, when it fires, whom it tells, and how.
import type { Alert, Destination } from '../api/alerts';
import { formOf, joinWords, saidOf } from './conditions/form';
import { personCalled } from './references';
import { sayTrigger } from './schedules';
import { labelOf } from './types';

export type Part = { text: string; isStrong?: boolean };
type Rule = { effect: string; condition: string; prefixCondition?: string; description?: string };

export const channels: Readonly<Record<string, string>> = {
  ActivityFeed: 'bell',
  Email: 'e-mail',
  Slack: 'Slack',
  MsTeams: 'Teams',
  GChat: 'Google Chat',
  Push: 'browser',
  Webhook: 'webhook',
  GovernanceWorkflowChangeEvent: 'queue',
};
/** Return channels in words: `bell, Slack`. */
export const channelsOf = (types: readonly string[] = []): string =>
  types.map((type) => channels[type] ?? type).join(', ');

export const categories: Readonly<Record<string, string>> = {
  Owners: 'owners',
  Followers: 'followers',
  Admins: 'administrators',
  Assignees: 'assignees',
  Mentions: 'people mentioned',
  Users: 'people',
  Teams: 'teams',
  External: 'address',
};
export const severities = ['Severity1', 'Severity2', 'Severity3', 'Severity4', 'Severity5'] as const;
const SEVERITY_WORDS = ['critical', 'high', 'medium', 'low', 'minor'];
export const saySeverity = (severity: string): string =>
  SEVERITY_WORDS[severities.indexOf(severity as (typeof severities)[number])] ?? severity;

/** Return what went wrong with a message, in words, of the reason that the server gives. */
const REASONS: Readonly<Record<string, string>> = {
  ok: 'answered ok',
  badUrl: 'the address is not valid',
  badAddress: 'the mail address is not valid',
  egressRefused: 'the address is not allowed',
  connectionFailed: 'could not connect',
  timeout: 'no answer in time',
  informational: 'answered without a result',
  redirect: 'answered with another address',
  rateLimited: 'asked to send less',
  gone: 'answered that it is gone',
  notVerified: 'did not answer the challenge',
  clientError: 'refused the message',
  serverError: 'failed at its side',
  mailRefused: 'the mail server refused it',
  mailDeferred: 'the mail server asked to wait',
  disabled: 'was switched off',
  recipientUnknown: 'does not know this person',
  recipientGone: 'the person is gone',
  mayNotView: 'may not be viewed',
  muted: 'muted',
  handled: 'was handled meanwhile',
  forgotten: 'was forgotten',
  held: 'waits for the end of quiet hours',
  internalError: 'Tocsin failed',
};
/** What changes that an address is refused: the way out, of those who run the server. */
export const EGRESS_ADVICE =
  'The server sends to public addresses only. Those who run it permit others, each address or range, ' +
  'in its setting egress_allow.';
export const sayReason = (reason: string | null | undefined, statusCode?: number | null): string =>
  [statusCode, REASONS[reason ?? ''] ?? reason ?? ''].filter(Boolean).join(' ');

/** Return the rules of an alert as one condition: `exclude` negates, AND binds before OR. */
export function conditionOfRules(rules: readonly Rule[] | null | undefined): string {
  const written = (rules ?? []).filter(({ condition }) => condition.trim());
  if (written.length === 1 && written[0]!.effect === 'include') return written[0]!.condition;
  return written
    .map(({ effect, condition, prefixCondition }, index) => {
      const part = effect === 'exclude' ? `!(${condition})` : bracketed(condition);
      return (index ? (prefixCondition === 'OR' ? ' || ' : ' && ') : '') + part;
    })
    .join('');
}
const needsBrackets = (condition: string): boolean => /\|\||\bor\b/i.test(condition);

/** Return a condition that others can be joined to by AND. */
export const bracketed = (condition: string): string =>
  needsBrackets(condition) ? `(${condition})` : condition.trim();

/** Return whether a condition asks for the state at the times of a schedule: `stillFailing()`. */
export const asksForState = (condition: string): boolean =>
  /\bstill(Failing|Stale|WithoutOwner)\(/.test(condition);

/** Return what an alert is about: `table or topic`. */
export function sayResources(resources: readonly string[]): string {
  if (!resources.length) return 'nothing';
  if (resources.includes('all')) return 'anything';
  return joinWords(resources.map(labelOf), 'or');
}

const receiverOf = (category: string) => (name: string) => (category === 'Users' ? personCalled(name) : name);

/** Return whom a destination tells: `owners`, `DataEngineering`, `#data-incidents`, `127.0.0.1:8586`. */
export function sayWhom(destination: Pick<Destination, 'category' | 'name' | 'config'>): string {
  const config = (destination.config ?? {}) as { endpoint?: string; receivers?: string[] };
  if (destination.name) return destination.name;
  if (config.receivers?.length)
    return joinWords(config.receivers.map(receiverOf(destination.category)), 'and');
  if (config.endpoint) return hostOf(config.endpoint);
  return categories[destination.category] ?? destination.category;
}

function hostOf(address: string): string {
  try {
    return new URL(address).host || address;
  } catch {
    return address; // masked, or not an address
  }
}

/** Return the sentence of an alert; what is chosen in it is strong. */
export function sentenceOf(alert: Partial<Alert>): Part[] {
  const condition = conditionOfRules(alert.filteringRules?.rules as Rule[] | undefined);
  const form = formOf(condition);
  const said = form ? saidOf(form) : null;
  const about = sayResources(alert.filteringRules?.resources ?? []);
  const strong = (text: string): Part => ({ text, isStrong: true });
  const parts: Part[] = [
    { text: about === 'anything' ? 'When ' : `When ${/^[aeiou]/i.test(about) ? 'an' : 'a'} ` },
  ];
  parts.push(strong(about), { text: ' ' });
  if (said === null) parts.push({ text: 'fulfils its ' }, strong('condition'));
  else if (!said.length) parts.push(strong('changes'));
  else
    said.forEach((text, index) =>
      parts.push(strong(text), {
        text: index === said.length - 1 ? '' : index === said.length - 2 ? ' and ' : ', ',
      }),
    );
  parts.push({ text: ', tell ' }, ...sayTold(alert), { text: ', ' }, strong(sayTrigger(alert.trigger)), {
    text: '.',
  });
  return parts;
}

function sayTold(alert: Partial<Alert>): Part[] {
  if (alert.toMeOnly) return [{ text: 'its owner only', isStrong: true }];
  const destinations = (alert.destinations ?? []).filter(({ enabled }) => enabled !== false);
  if (!destinations.length) return [{ text: 'nobody', isStrong: true }];
  const byWhom = new Map<string, { by: Set<string>; below: Destination | undefined }>();
  for (const destination of destinations) {
    const whom = sayWhom(destination);
    const group = byWhom.get(whom) ?? { by: new Set<string>(), below: undefined };
    group.by.add(channels[destination.type] ?? destination.type);
    if (destination.notifyDownstream) group.below = destination;
    byWhom.set(whom, group);
  }
  return [...byWhom].flatMap(([whom, { by, below }], index) => [
    { text: index ? (index === byWhom.size - 1 ? ' and ' : ', ') : '' },
    { text: whom, isStrong: true },
    ...(below ? sayBelow(below) : []),
    { text: ' by ' },
    { text: joinWords([...by], 'and'), isStrong: true },
  ]);
}

function sayBelow({ downstreamDepth: depth }: Destination): Part[] {
  const steps = depth ? `up to ${depth} ${depth === 1 ? 'step' : 'steps'} below` : 'at any distance below';
  return [{ text: ' and those of what lies ' }, { text: steps, isStrong: true }];
}

export const plain = (parts: readonly Part[]): string => parts.map(({ text }) => text).join('');

/** Return notifications by channel: `bell 40, e-mail 20`. */
export const joinedChannels = (counts: readonly { channel: string; notified: number }[]): string =>
  counts.map(({ channel, notified }) => `${channels[channel] ?? channel} ${notified}`).join(', ');

/** Return where an alert is managed, as its `config` says: a file in a repository. */
export function fileOf(alert: Pick<Alert, 'config'>): string | undefined {
  const file = (alert.config as { managedIn?: unknown } | null | undefined)?.managedIn;
  return typeof file === 'string' && file ? file : undefined;
}
