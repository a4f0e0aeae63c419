// The way of a change to what reads it: which chain is shown, and what else there is.
import type { Reference } from './references';

export type Affected = Reference & { level: number; via?: Reference; owners: readonly Reference[] };

/** Return the chain from the first step below to what lies deepest, through what is mine where something is. */
export function chainOf(affected: readonly Affected[], isMine: (each: Affected) => boolean): Affected[] {
  const byId = new Map(affected.map((each) => [each.id, each]));
  const wayTo = (end: Affected): Affected[] => {
    const way: Affected[] = [];
    const passed = new Set<string>();
    for (let at: Affected | undefined = end; at && !passed.has(at.id); at = byId.get(at.via?.id ?? '')) {
      passed.add(at.id);
      way.unshift(at);
    }
    return way;
  };
  const worthOf = (way: readonly Affected[]) => (way.some(isMine) ? affected.length : 0) + way.length;
  return affected
    .map(wayTo)
    .reduce<Affected[]>((best, way) => (worthOf(way) > worthOf(best) ? way : best), []);
}
