// Marks of rows with undo, and mutes of what they are about, said by toasts.
import type { QueryClient } from '@tanstack/svelte-query';
import * as inbox from '../../api/inbox';
import { mute, unmute } from '../../api/preferences';
import { toasts } from '../../app/toasts.svelte';
import { nameOf } from '../../words/names';
import { assetOf, type Row } from './rows';

const DAY_MS = 86_400_000;

/** Return tomorrow at eight. */
export function tomorrowMs(): number {
  const day = new Date(Date.now() + DAY_MS);
  return day.setHours(8, 0, 0, 0);
}

/** Return how rows of a person's inbox are marked and muted; every change can be undone. */
export function markingOf(client: QueryClient, userId: string) {
  const refresh = () => client.invalidateQueries({ queryKey: ['inbox'] });
  const sayMarked = (marked: Awaited<ReturnType<typeof inbox.mark>>, said: string) => {
    const before = marked.undo;
    toasts.say(said, before && (() => void attempt(() => inbox.undo(userId, before))));
  };
  async function attempt(doing: () => Promise<unknown>): Promise<void> {
    try {
      await doing();
    } catch (refusal) {
      toasts.say((refusal as Error).message);
    }
    await refresh();
  }
  const idsOf = async (row: Row, tab: inbox.Tab) =>
    row.cause && row.cause.count > 1
      ? (await inbox.entriesOf(userId, tab, row.cause.id)).map(({ id }) => id)
      : [row.id];

  return {
    refresh,
    mark: (rows: readonly Row[], tab: inbox.Tab, as: inbox.Mark, said: string, until?: number) =>
      attempt(async () => {
        const ids = (await Promise.all(rows.map((row) => idsOf(row, tab)))).flat();
        sayMarked(await inbox.mark(userId, ids, as, until), said);
      }),
    markInformationRead: (tab: inbox.Tab) =>
      attempt(async () => sayMarked(await inbox.markInformationRead(userId, tab), 'Marked as read.')),
    muteAssetOf: (row: Row) =>
      attempt(async () => {
        const { id, type, fullyQualifiedName } = assetOf(row.entry);
        await mute(userId, { kind: 'asset', id, type, until: Date.now() + 7 * DAY_MS });
        toasts.say(`${nameOf(fullyQualifiedName)} is muted for a week.`, () => {
          void attempt(() => unmute(userId, id));
        });
      }),
  };
}
