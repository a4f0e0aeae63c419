// Kinds of change as the inbox groups them: few groups that people know, each of several kinds of the API.
export type KindGroup = { name: string; label: string; kinds: readonly string[] };

export const kindGroups: readonly KindGroup[] = [
  {
    name: 'failures',
    label: 'Failures',
    kinds: ['testFailure', 'runFailure', 'freshness', 'profileAnomaly', 'sla', 'incident'],
  },
  { name: 'breaking', label: 'Breaking', kinds: ['breaking', 'deletion', 'softDeletion'] },
  { name: 'requests', label: 'Requests', kinds: ['changeRequest', 'task'] },
  { name: 'mentions', label: 'Mentions', kinds: ['mention', 'discussion', 'announcement'] },
  {
    name: 'changes',
    label: 'Changes',
    kinds: [
      'columns',
      'constraint',
      'description',
      'tag',
      'glossaryTerm',
      'classification',
      'tier',
      'certification',
      'name',
      'owner',
      'reviewer',
      'domain',
      'dataProduct',
      'lineage',
      'customProperty',
      'creation',
      'restoration',
    ],
  },
  { name: 'well', label: 'Well again', kinds: ['recovery'] },
];

const singleKinds = new Set(['bot', ...kindGroups.flatMap(({ kinds }) => kinds)]);

/** Return the kinds of a group, or those named with commas, as the API filters by them; empty for all. */
export function kindsOf(text: string | null): readonly string[] {
  const group = kindGroups.find(({ name }) => name === text);
  const names = text?.split(',') ?? [];
  return group?.kinds ?? (names.length > 1 || singleKinds.has(text ?? '') ? names : []);
}
