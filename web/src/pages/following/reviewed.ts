// What of a follow is worth a review, as the server judges it (docs/follows.md, "Review").
import type { Followed, Summary } from '../../api/follows';
import { countOf } from '../../words/dates';
import { serverNow } from '../../words/now';
import { labelOf } from '../../words/types';

const NOISY_FROM = 10;
const STALE_AFTER_MS = 180 * 86_400_000;

/** Return whether a follow tells often and nothing of it is read. */
export const isNoisy = ({ told }: Followed): boolean =>
  told.count >= NOISY_FROM && told.unread === told.count;

/** Return whether a follow has had no change and told nothing for half a year. */
export const isStale = ({ tie, asset, lastChange, told }: Followed, nowMs = serverNow()): boolean =>
  tie !== 'container' &&
  asset.type !== 'dashboard' &&
  Math.max(lastChange.timestamp, told.last ?? 0) < nowMs - STALE_AFTER_MS;

const MOST_TYPES = 4;

/** Return what is followed, and how much it tells: `8 tables, 2 pipelines · about 3 messages a week, 4 of 10 opened`. */
export function sentenceOf({ types, month }: Summary): string {
  const byCount = Object.entries(types).sort(([, one], [, other]) => other - one);
  const named = byCount.slice(0, MOST_TYPES).map(([type, count]) => countOf(count, labelOf(type)));
  const others = byCount.slice(MOST_TYPES).reduce((sum, [, count]) => sum + count, 0);
  const what = [...named, ...(others ? [`${others} more`] : [])].join(', ');
  if (!month.told) return `${what} · nothing told in 30 days`;
  const aWeek = Math.max(1, Math.round((month.told * 7) / 30));
  const opened = Math.round((10 * month.opened) / month.told);
  return `${what} · about ${countOf(aWeek, 'message')} a week, ${opened} of 10 opened`;
}
