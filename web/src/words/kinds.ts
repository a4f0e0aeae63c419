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

/** Return the kinds of a group, as the API filters by them; empty for all. */
export const kindsOf = (group: string | null): readonly string[] =>
  kindGroups.find(({ name }) => name === group)?.kinds ?? [];
