// The rules of policies in words: who may do what with which types, and under which condition.
import { labelOf } from '../../words/types';

export type Rule = {
  name: string;
  description?: string;
  effect: 'allow' | 'deny';
  operations: string[];
  resources: string[];
  condition?: string;
};

const MOST = 6;

/** Return an operation as people read it: `edit description` of `EditDescription`. */
export const operationOf = (operation: string): string =>
  operation.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();

/** Return what a rule is about: `edit description, view all of table, topic`. */
export function sentenceOf({ operations, resources }: Pick<Rule, 'operations' | 'resources'>): string {
  const types = resources.map((type) => (/^all$/i.test(type) ? 'everything' : labelOf(type)));
  const what = types.length > MOST ? `${types.length} types` : types.join(', ');
  return `${operations.map(operationOf).join(', ')} of ${what}`;
}

export type Permission = {
  operation: string;
  access: 'allow' | 'deny' | 'conditionalAllow' | 'conditionalDeny' | 'notAllow';
  policy?: string;
  role?: string;
  rule?: { name: string; description?: string; condition?: string };
};
export type Verdict = { text: string; tone: 'ok' | 'danger' | 'warn' | 'plain' };

/** Return whether a permission says yes, in a word. */
export const verdictOf = ({ access }: Pick<Permission, 'access'>): Verdict =>
  ({
    allow: { text: 'may', tone: 'ok' as const },
    conditionalAllow: { text: 'may, of some', tone: 'ok' as const },
    conditionalDeny: { text: 'may not, of some', tone: 'warn' as const },
    deny: { text: 'may not', tone: 'danger' as const },
    notAllow: { text: 'no rule allows it', tone: 'plain' as const },
  })[access];

/** Return the answer to "who may?" as a sentence without its rule: `Yes: Aiko Tanaka may edit tags of payments.` */
export function answerOf(permission: Permission, who: string, what: string): string {
  const act = operationOf(permission.operation);
  switch (permission.access) {
    case 'allow':
      return `Yes: ${who} may ${act} of ${what}.`;
    case 'conditionalAllow':
      return `Of some: ${who} may ${act} of ${what} where the rule's condition holds.`;
    case 'conditionalDeny':
      return `Not of all: ${who} may not ${act} of ${what} where the rule's condition holds.`;
    case 'deny':
      return `No: a rule forbids ${who} to ${act} of ${what}.`;
    default:
      return `No: no rule allows ${who} to ${act} of ${what}.`;
  }
}
