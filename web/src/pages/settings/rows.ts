// The rows of the matrix of preferences: each stands for kinds of change, some only for what one owns.
import type { Cell, Channel, Effective, Kind, Month, Preferences } from '../../api/preferences';
import type { MatrixCell, MatrixGroup } from '../../components/Matrix.svelte';
import { countOfRow } from './month';

type Role = 'owned' | 'followed' | 'aboveOwned' | 'aboveFollowed';
export type Row = { key: string; label: string; kinds: readonly string[]; roles?: readonly Role[] };
export type Group = { title: string; rows: readonly Row[] };

const failures = ['testFailure', 'runFailure', 'freshness', 'sla', 'incident', 'profileAnomaly'];

const grouped: readonly Group[] = [
  {
    title: 'Needs me',
    rows: [
      { key: 'ownFailures', label: 'Failures of what I own', kinds: failures, roles: ['owned'] },
      {
        key: 'ownBreaking',
        label: 'Breaking changes on or above what I own',
        kinds: ['breaking'],
        roles: ['owned', 'aboveOwned'],
      },
      { key: 'changeRequest', label: 'Change requests, and their dates', kinds: ['changeRequest'] },
      { key: 'tasks', label: 'Tasks and mentions', kinds: ['task', 'mention'] },
    ],
  },
  {
    title: 'For information',
    rows: [
      {
        key: 'schema',
        label: 'Schema, not breaking',
        kinds: ['columns', 'constraint', 'name', 'creation', 'softDeletion', 'deletion', 'restoration'],
      },
      { key: 'failures', label: 'Failures of what I follow', kinds: failures },
      { key: 'breaking', label: 'Other breaking changes', kinds: ['breaking'] },
      { key: 'description', label: 'Descriptions', kinds: ['description'] },
      {
        key: 'tags',
        label: 'Tags, terms, tiers',
        kinds: ['tag', 'glossaryTerm', 'tier', 'classification', 'certification'],
      },
      { key: 'owners', label: 'Owners and domains', kinds: ['owner', 'reviewer', 'domain', 'dataProduct'] },
      { key: 'recovery', label: 'Well again', kinds: ['recovery'] },
      { key: 'discussion', label: 'Discussions and announcements', kinds: ['discussion', 'announcement'] },
      { key: 'bot', label: 'What ingestion and other robots change', kinds: ['bot'] },
    ],
  },
];
const titles: Record<string, string> = {
  structure: 'Assets',
  quality: 'Quality',
  metadata: 'Metadata',
  governance: 'Governance',
  activity: 'Activity',
  conversation: 'Conversations',
  work: 'Work',
};

/** Return the rows: a few that stand for several kinds, with one for all others, or every kind by itself. */
export function groupsOf(kinds: readonly Kind[], isEachKind: boolean): readonly Group[] {
  if (isEachKind) {
    const names = [...new Set(kinds.map(({ group }) => group))];
    return names.map((name) => ({
      title: titles[name] ?? name,
      rows: kinds
        .filter(({ group, hasEvents }) => group === name && hasEvents)
        .map(({ kind, label }) => ({ key: kind, label, kinds: [kind] })),
    }));
  }
  const named = new Set(grouped.flatMap(({ rows }) => rows.flatMap((row) => row.kinds)));
  const others = kinds.filter(({ kind, hasEvents }) => hasEvents && !named.has(kind)).map(({ kind }) => kind);
  const rest: Row = { key: 'others', label: 'Everything else', kinds: others };
  return grouped.map((group, index) => (index ? { ...group, rows: [...group.rows, rest] } : group));
}

/** Return the groups as the matrix shows them, with how much there was of each in 30 days. */
export const matrixGroups = (groups: readonly Group[], month: Month | undefined): readonly MatrixGroup[] =>
  groups.map(({ title, rows }) => ({
    title,
    rows: rows.map((row) => {
      const { key, label, kinds, roles } = row;
      const count = countOfRow(month, row);
      return { key, label, count, href: count && !roles ? `/inbox?tab=all&kind=${kinds.join()}` : undefined };
    }),
  }));

const MIXED = 'mixed';
const UNSET = 'unset';
const BACK = 'default';

/** Return how often what a row stands for comes over a channel. */
export function cellOf(effective: Effective, row: Row, channel: Channel): MatrixCell | undefined {
  const kinds = effective.kinds.filter(({ kind }) => row.kinds.includes(kind));
  const cells = kinds.flatMap((kind) => cellsOf(kind, row.roles, channel));
  const [first] = cells;
  if (!first) return undefined;
  const values = new Set(cells.map(valueOf));
  const value = values.size === 1 ? valueOf(first) : MIXED;
  const isOwn = cells.some((cell) => cell.from === 'own');
  const at = cells.find((cell) => cell.at)?.at;
  const options = [
    { value: 'immediate', label: 'at once' },
    { value: 'hourly', label: 'hourly' },
    {
      value: 'daily',
      label: `daily ${(value === 'daily' && at) || effective.digestAt}`,
    },
    {
      value: 'weekly',
      label: `weekly ${effective.digestDay[0]!.toUpperCase()}${effective.digestDay.slice(1, 3)}`,
    },
    { value: 'never', label: 'off' },
  ];
  if (!options.some((option) => option.value === value)) options.unshift({ value, label: labelOf(value) });
  if (isOwn) options.push({ value: BACK, label: 'by default' });
  const locked = kinds.filter((kind) => isLockedFor(kind, row.roles));
  const title = sourceOf(first, values.size > 1) + (locked.length ? ` ${lockOf(locked)}` : '');
  return {
    value,
    options: locked.length && value !== 'never' ? options.filter((each) => each.value !== 'never') : options,
    tone: toneOf(value),
    isLocked: !!locked.length,
    title,
  };
}

const isLockedFor = ({ isMandatory, mandatoryRoles }: Kind, roles: readonly Role[] | undefined): boolean =>
  isMandatory || !!roles?.some((role) => mandatoryRoles?.includes(role));

/** Return why kinds of a row cannot be switched off. */
export const lockOf = (kinds: readonly Kind[]): string =>
  `The administrators let nobody switch off: ${kinds.map(({ label }) => label).join('; ')}.`;

function cellsOf(kind: Kind, roles: readonly Role[] | undefined, channel: Channel): Cell[] {
  const general = kind.channels[channel];
  const cells = roles ? roles.map((role) => kind.roles?.[role]?.[channel] ?? general) : [general];
  return cells.filter((cell) => cell !== undefined);
}
const valueOf = ({ frequency }: Cell): string => frequency ?? UNSET;
const labelOf = (value: string) => (value === MIXED ? 'mixed' : value === UNSET ? 'as the rest' : value);
const toneOf = (value: string): MatrixCell['tone'] =>
  value === 'immediate' ? 'now' : value === 'never' || value === UNSET ? 'off' : 'later';

function sourceOf({ from, team, at }: Cell, isMixed: boolean): string {
  if (isMixed) return 'Its kinds come at different times; choose one for all, or see every kind by itself.';
  const sources: Record<string, string> = {
    own: 'You chose this.',
    team: `Your team ${team?.displayName ?? team?.name ?? ''} set this.`,
    server: 'Set for everybody.',
    recommended: 'As recommended.',
    mandatory: 'Cannot be switched off.',
    nobody: 'Nobody chose anything: it comes as it happens.',
  };
  return (sources[from] ?? '') + (at ? ` At ${at}.` : '');
}

/** Return what a choice does, in words: `Descriptions by e-mail: weekly Mon.` */
export function sentenceOf(row: Row, way: string, cell: MatrixCell | undefined, value: string): string {
  const label = cell?.options.find((option) => option.value === value)?.label ?? value;
  const subject = `${row.label}, ${way}`;
  if (value === BACK) return `${subject}: as by default again.`;
  return value === 'never' ? `${subject}: nothing comes any more.` : `${subject}: ${label}.`;
}

type Table = Record<string, Record<string, string>>;

/** Return preferences in which a row comes over a channel as chosen, or as by default. */
export function withChoice(preferences: Preferences, row: Row, channel: Channel, value: string): Preferences {
  const changed = (table: Table | undefined): Table => {
    const entries = { ...table };
    for (const kind of row.kinds) {
      const ways = { ...entries[kind] };
      if (value === BACK) delete ways[channel];
      else ways[channel] = value;
      entries[kind] = ways;
      if (!Object.keys(entries[kind]).length) delete entries[kind];
    }
    return entries;
  };
  if (!row.roles) return { ...preferences, kinds: changed(preferences.kinds) };
  const roles: Record<string, Table> = { ...preferences.roles };
  for (const role of row.roles) {
    roles[role] = changed(roles[role]);
    if (!Object.keys(roles[role]).length) delete roles[role];
  }
  return { ...preferences, roles };
}
