// The facets of the list of events: what is chosen, what it leaves, and how many events each value would leave.
import { personCalled } from '../../words/references';
import type { ChangeEvent } from '../../api/events';
import type { FacetGroup } from '../../components/Facets.svelte';
import { kindsOf } from '../../words/events';
import { labelOf } from '../../words/types';
import { countsBy } from './counts';

export type Facet = 'kind' | 'by' | 'type' | 'effect';
export type Chosen = Record<Facet, string[]>;
export type Narrowing = { chosen: Chosen; words: string; since: number };
/** Kinds that are listed only where they are chosen, or have the words that are looked for. */
const LOG_INS = ['user login', 'user logout'];

/** Return whether an event is listed; `but` names a facet whose choice does not count. */
export function fits(event: ChangeEvent, { chosen, words, since }: Narrowing, but?: Facet): boolean {
  if (event.timestamp < since) return false;
  const kinds = kindsOf(event);
  if (but !== 'kind') {
    if (chosen.kind.length && !kinds.some((kind) => chosen.kind.includes(kind))) return false;
    if (!chosen.kind.length && !words && kinds.every((kind) => LOG_INS.includes(kind))) return false;
  }
  if (but !== 'by' && chosen.by.length && !chosen.by.includes(event.userName ?? '')) return false;
  const text = `${event.title} ${event.entityFullyQualifiedName} ${event.userName} ${event.reason ?? ''}`;
  return words.split(/\s+/).every((word) => text.toLowerCase().includes(word));
}

/** Return the facets with the counts of their values, each in what the other filters leave of the loaded events. */
export function groupsOf(loaded: readonly ChangeEvent[], narrowing: Narrowing): FacetGroup[] {
  const left = (facet: Facet) => loaded.filter((event) => fits(event, narrowing, facet));
  const itemsOf = (
    facet: Facet,
    valuesOf: (event: ChangeEvent) => readonly string[],
    label = (value: string) => value,
  ) => {
    const counts = countsBy(left(facet), valuesOf);
    return [...new Set([...counts.keys(), ...narrowing.chosen[facet]])]
      .map((value) => ({ value, label: label(value), count: counts.get(value) ?? 0 }))
      .sort((a, b) => b.count - a.count);
  };
  const count = left('effect').filter((event) => event.breaking).length;
  return [
    { key: 'kind', title: 'Kind', items: itemsOf('kind', kindsOf) },
    { key: 'by', title: 'By', items: itemsOf('by', (event) => [event.userName ?? ''], personCalled) },
    { key: 'type', title: 'Asset type', items: itemsOf('type', (event) => [event.entityType], labelOf) },
    {
      key: 'effect',
      title: 'Effect',
      items: [{ value: 'breaking', label: 'breaking', count, tone: 'warn' }],
    },
  ];
}
