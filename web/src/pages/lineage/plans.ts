// The changes that one may plan, as the lineage asks after them and as the form of change requests knows them.
import type { ChangeRequest } from '../../api/changes';

/** `verb`: "If cart_id of orders … "; `noun`: "Announce the …". A new type is a column's. */
export type Plan = { kind: ChangeRequest['kind']; verb: string; noun: string; needsColumn: boolean };

export const plans: readonly Plan[] = [
  { kind: 'removal', verb: 'is removed', noun: 'removal', needsColumn: false },
  { kind: 'type', verb: 'changes its type', noun: 'new type', needsColumn: true },
  { kind: 'rename', verb: 'is renamed', noun: 'new name', needsColumn: false },
  { kind: 'deprecation', verb: 'is deprecated', noun: 'deprecation', needsColumn: false },
];

/** Return the plan that an address names; a removal where it names none. */
export const parsePlan = (kind: string | null): Plan => plans.find((plan) => plan.kind === kind) ?? plans[0]!;
