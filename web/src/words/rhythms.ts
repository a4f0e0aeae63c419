// What a follow tells of: a few usual choices, and what is chosen in words.
import type { FollowChoices } from '../api/follows';

const ways = ['ActivityFeed', 'Email', 'Slack', 'MsTeams', 'GChat'] as const;
const over = (frequency: string) => Object.fromEntries([...ways, 'Push'].map((way) => [way, frequency]));
const only = (kinds: readonly string[]): FollowChoices => ({
  kinds: Object.fromEntries(kinds.map((kind) => [kind, over('immediate')])),
  channels: over('never'),
});

export type Choice = { label: string; hint: string; choices: FollowChoices; isUrgent?: true };
export const usualChoices: readonly Choice[] = [
  { label: 'As my settings say', hint: 'all kinds', choices: {} },
  { label: 'Everything at once', hint: 'all kinds', choices: { channels: over('immediate') } },
  { label: 'Everything once a day', hint: 'in the digest', choices: { channels: over('daily') } },
  {
    label: 'Only failures and breaking changes',
    hint: 'at once',
    isUrgent: true,
    choices: only(['breaking', 'testFailure', 'runFailure', 'freshness', 'sla', 'incident', 'changeRequest']),
  },
  { label: 'Only breaking changes', hint: 'at once', choices: only(['breaking', 'changeRequest']) },
  {
    label: 'Only changes of schema',
    hint: 'at once',
    choices: only(['breaking', 'columns', 'constraint', 'name', 'softDeletion', 'deletion', 'changeRequest']),
  },
];

/** Return which of the usual choices these are; undefined for others. */
export function usualOf(choices: FollowChoices): Choice | undefined {
  const text = textOf([choices.kinds ?? {}, choices.channels ?? {}]);
  return usualChoices.find(
    (each) => textOf([each.choices.kinds ?? {}, each.choices.channels ?? {}]) === text,
  );
}
/** Tables of tables as a text, whatever the order of their keys. */
const textOf = (tables: object): string =>
  JSON.stringify(tables, (_, value: unknown) =>
    value && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort())
      : value,
  );

/** What is suggested for a follow that is noisy. */
export const quietChoice: Choice = usualChoices.find(({ label }) => label.startsWith('Only failures'))!;

const frequencies: Record<string, string> = { immediate: 'at once', never: 'never' };
const channelNames: Record<string, string> = {
  ActivityFeed: 'bell',
  Push: 'browser',
  Email: 'e-mail',
  MsTeams: 'Teams',
  GChat: 'Google Chat',
};
const sayFrequency = (frequency: string) => frequencies[frequency] ?? frequency;

/** Return the kinds that a follow tells of, in words; null for all of them. */
export function kindsOf(
  choices: FollowChoices | undefined,
  nameOf: (kind: string) => string,
): readonly string[] | null {
  const entries = Object.entries(choices?.kinds ?? {});
  const told = entries.filter(([, table]) => Object.values(table).some((frequency) => frequency !== 'never'));
  return told.length ? told.map(([kind]) => nameOf(kind)) : null;
}

/** Return how a follow tells, in words: each frequency with its channels; null where nothing is chosen. */
export function rhythmOf(choices: FollowChoices | undefined): readonly string[] | null {
  const tables = [...Object.values(choices?.kinds ?? {}), choices?.channels ?? {}];
  const channels = new Map<string, Set<string>>();
  for (const [channel, frequency] of tables.flatMap((table) => Object.entries(table)))
    if (frequency !== 'never') channels.set(frequency, (channels.get(frequency) ?? new Set()).add(channel));
  const isSilent = !channels.size && tables.some((table) => Object.keys(table).length);
  if (isSilent) return ['nothing'];
  if (!channels.size) return null;
  return [...channels].map(([frequency, names]) => {
    const isEverywhere = ways.every((way) => names.has(way));
    const where = isEverywhere ? '' : `${[...names].map((name) => channelNames[name] ?? name).join(', ')} `;
    return where + sayFrequency(frequency);
  });
}

/** Return choices in which a kind, or everything else, comes over a channel as chosen; an empty value takes it back. */
export function withFrequency(
  choices: FollowChoices,
  kind: string | null,
  channel: string,
  value: string,
): FollowChoices {
  const set = (table: Readonly<Record<string, string>> | undefined) => {
    const others = Object.entries(table ?? {}).filter(([name]) => name !== channel);
    return Object.fromEntries(value ? [...others, [channel, value]] : others);
  };
  if (kind === null) return { ...choices, channels: set(choices.channels) };
  const next = set(choices.kinds?.[kind]);
  const others = Object.entries(choices.kinds ?? {}).filter(([name]) => name !== kind);
  const kinds = Object.keys(next).length ? [...others, [kind, next]] : others;
  return { ...choices, kinds: Object.fromEntries(kinds) as FollowChoices['kinds'] & object };
}
