// What a test measured, over time: one series for each of its values that is a number.
import type { Result } from '../../api/assets';
import type { Bar } from '../../components/Bars.svelte';
import { dayOf } from '../../words/dates';

export type Series = { name: string; bars: Bar[] };

const called = (name: string): string => {
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Return the values of results, which come newest first, oldest first; failures are red. */
export function valuesOf(results: readonly Result[]): Series[] {
  const series = new Map<string, Bar[]>();
  for (const { atMs, status, values = {} } of results.toReversed())
    for (const [name, value] of Object.entries(values)) {
      const bar: Bar = {
        label: dayOf(atMs),
        count: value,
        tone: /fail|abort/i.test(status) ? 'danger' : 'muted',
      };
      series.set(name, [...(series.get(name) ?? []), bar]);
    }
  const hasShape = ({ bars }: Series) => bars.length > 1 && bars.some(({ count }) => count > 0);
  return [...series].map(([name, bars]) => ({ name: called(name), bars })).filter(hasShape);
}
