// What broke its readers lately, by the id of the asset.
import type { ChangeEvent } from './events';
import { read, type Page } from './collections';
import type { Marks, Mark } from './marks';

const MOST = 1_000;
const HOUR_MS = 3_600_000;

/** Return since when it is news that something broke: a week ago, by the hour, so that pages share what they read. */
export const breakingSince = (): number => Math.floor((Date.now() - 7 * 24 * HOUR_MS) / HOUR_MS) * HOUR_MS;

/** Return what broke readers since a time: one mark for each asset, its newest change. */
export async function readBreaking(sinceMs: number): Promise<Marks> {
  const query = { breaking: true, timestamp: sinceMs, format: 'tocsin', limit: MOST };
  const { data } = await read<Page<ChangeEvent>>('events', query);
  return new Map(data.map((event) => [event.entityId, [markOf(event)]]));
}

function markOf({
  id,
  timestamp,
  breakingReasons = [],
  semanticChanges = [],
  title = '',
}: ChangeEvent): Mark {
  const [first] = breakingReasons;
  const change = semanticChanges.find(({ target }) => target === first?.field);
  const more = breakingReasons.length > 1 ? ` +${breakingReasons.length - 1}` : '';
  const text = (change?.text ?? first?.text ?? title).replace(/^column /, '');
  return { kind: 'breaking', name: id, text: text + more, dateMs: timestamp };
}
