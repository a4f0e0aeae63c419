// What broke its readers lately, by the id of the asset.
import { serverNow } from '../words/now';
import type { ChangeEvent } from './events';
import { read, type Page } from './collections';
import type { Marks, Mark } from './marks';

const MOST = 1_000;
const MOST_PAGES = 20; // each of 1,000 events, or of what 20,000 looked at hold
const HOUR_MS = 3_600_000;

/** Return since when it is news that something broke: a week ago, by the hour, so that pages share what they read. */
export const breakingSince = (): number => Math.floor((serverNow() - 7 * 24 * HOUR_MS) / HOUR_MS) * HOUR_MS;

/** What broke readers, by the id of its asset; where `isCut`, the newest of very many changes are missing. */
export type Breaking = { marks: Marks; isCut: boolean };

/** Return what broke readers since a time, of one asset or of all: one mark for each, its newest change. */
export async function readBreaking(sinceMs: number, entityId?: string): Promise<Breaking> {
  const query = { breaking: true, timestamp: sinceMs, format: 'tocsin', limit: MOST, entityId };
  const marks = new Map<string, readonly Mark[]>();
  let after: string | undefined;
  for (let count = 0; count < MOST_PAGES; count++) {
    const { data, paging } = await read<Page<ChangeEvent>>('events', { ...query, after });
    for (const event of data) marks.set(event.entityId, [markOf(event)]);
    after = paging.after;
    if (!after) break;
  }
  return { marks, isCut: !!after };
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
