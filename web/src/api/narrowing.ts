// The filter that a search takes: it has a greatest length, so that of very many ids only the first are in it.
import type { Condition } from './search';

const LONGEST = 20_000; // characters that the server takes
const SHRINKING = 0.8;

/** `filter` as JSON, empty without conditions; `isCut` where ids were left out. */
export type Narrowing = { filter: string; isCut: boolean };

/** Return conditions as a filter; `conditionsWith` returns them with at most so many ids of each list. */
export function narrowingOf(
  conditionsWith: (most: number) => readonly Condition[],
  longestList: number,
): Narrowing {
  for (let most = longestList; ; most = Math.floor(most * SHRINKING)) {
    const conditions = conditionsWith(most);
    const filter = conditions.length ? JSON.stringify({ bool: { filter: conditions } }) : '';
    if (filter.length <= LONGEST || most === 0) return { filter, isCut: most < longestList };
  }
}
