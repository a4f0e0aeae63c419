// Sums of the last 30 days, and what a change of settings made of them, in words.
import type { ChannelMonth, Month } from '../../api/preferences';
import { figure } from '../../words/dates';
import type { Row } from './rows';

const NONE: ChannelMonth = { atOnceCount: 0, digestCount: 0, inDigestsCount: 0, neverCount: 0 };

/** Return the counts of all channels together. */
export function totalOf(month: Month): ChannelMonth {
  return Object.values(month.channels).reduce<ChannelMonth>(
    (sum, each) => ({
      atOnceCount: sum.atOnceCount + each.atOnceCount,
      digestCount: sum.digestCount + each.digestCount,
      inDigestsCount: sum.inDigestsCount + each.inDigestsCount,
      neverCount: sum.neverCount + each.neverCount,
    }),
    NONE,
  );
}

/** Return what changed from one month to another: `19 fewer at once, 2 more digests`. */
export function differenceOf(before: Month, after: Month): string {
  const [old, now] = [totalOf(before), totalOf(after)];
  const parts = [
    [now.atOnceCount - old.atOnceCount, 'at once', 'at once'],
    [now.digestCount - old.digestCount, 'digest', 'digests'],
    [now.neverCount - old.neverCount, 'not told', 'not told'],
  ] as const;
  const said = parts
    .filter(([count]) => count)
    .map(([count, single, several]) => {
      const what = Math.abs(count) === 1 ? single : several;
      return `${figure(Math.abs(count))} ${count < 0 ? 'fewer' : 'more'} ${what}`;
    });
  return said.length ? said.join(', ') : 'nothing of these 30 days would have come otherwise';
}

/** Return how many events of the 30 days a row of the matrix stands for; of several kinds, each counts for its own. */
export function countOfRow(month: Month | undefined, { kinds, roles }: Row): number | undefined {
  if (!month) return undefined;
  const of = (kind: string, role: string) => month.kinds[kind]?.[role] ?? 0;
  const most = (kind: string) => (roles ? Math.max(...roles.map((role) => of(kind, role))) : of(kind, 'all'));
  return kinds.reduce((sum, kind) => sum + most(kind), 0);
}
