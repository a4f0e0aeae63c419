// The sentence below the greeting of Home: how much needs the person.
import { countOf } from '../../words/dates';

type Needing = { failure?: { until?: number } | null | undefined; breaking?: boolean | undefined };

/** Return what needs the person; `untold` counts open incidents of theirs that their inbox does not have. */
export function sentenceOf(needs: { entries: readonly Needing[]; count: number }, untold: number): string {
  const told = needs.entries.filter(({ failure }) => failure && failure.until === undefined).length;
  const failing = told + untold;
  const breaking = needs.entries.filter((entry) => entry.breaking).length;
  const count = needs.count + untold;
  if (!count) return 'Nothing needs you.';
  if (!failing && !breaking) return `${countOf(count, 'thing needs', 'things need')} you.`;
  const parts = [
    failing && countOf(failing, 'failure'),
    breaking && countOf(breaking, 'breaking change'),
  ].filter(Boolean);
  return `${parts.join(' and ')} ${failing + breaking === 1 ? 'touches' : 'touch'} what you own.`;
}
