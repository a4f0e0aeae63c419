// Marks of rows with undo, and mutes of what they are about, said by toasts.
import type { QueryClient } from '@tanstack/svelte-query';
import * as inbox from '../../api/inbox';
import { mute, unmute } from '../../api/preferences';
import { toasts } from '../../app/toasts.svelte';
import { nameOf } from '../../words/names';
import { serverNow } from '../../words/now';
import { assetOf, type Row } from './rows';

const DAY_MS = 86_400_000;
/** What rows are marked as, what is said of it, and what else its undo does. */
export type Marking = { as: inbox.Mark; said: string; until?: inbox.Until; onundo?: () => void };
export type MuteRequest = Parameters<typeof mute>[1];

/** Return how rows of a person's inbox are marked and muted; every change can be undone. */
export function markingOf(client: QueryClient, userId: string) {
  const refresh = () => client.invalidateQueries({ queryKey: ['inbox'] });
  async function attempt(doing: () => Promise<unknown>): Promise<void> {
    try {
      await doing();
    } catch (refusal) {
      toasts.say((refusal as Error).message);
    }
    await refresh();
  }
  const sayMarked = (before: readonly inbox.States[], said: string, onundo?: () => void) => {
    const goBack = () => {
      onundo?.();
      void attempt(() => Promise.all(before.map((states) => inbox.undo(userId, states))));
    };
    toasts.say(said, before.length ? goBack : undefined);
  };

  /** Mark rows: entries at once, each cause by what it had when it was listed. */
  async function markRows(rows: readonly Row[], tab: inbox.Tab, as: inbox.Mark, until?: inbox.Until) {
    const causes = rows.filter(({ cause }) => cause && cause.count > 1);
    const ids = rows.filter((row) => !causes.includes(row)).map(({ id }) => id);
    const marks = causes.map(({ cause }) =>
      inbox.mark(userId, { tab: inbox.tabOfRead(tab), filter: { cause: cause!.id } }, as, until),
    );
    if (ids.length) marks.push(inbox.mark(userId, { ids }, as, until));
    return (await Promise.all(marks)).flat();
  }
  async function muteIt(body: MuteRequest, said: string): Promise<void> {
    await attempt(async () => {
      await mute(userId, body);
      const about = body.id ?? body.name ?? body.kind;
      toasts.say(said, () => void attempt(() => unmute(userId, about)));
    });
  }

  return {
    refresh,
    mark: (rows: readonly Row[], tab: inbox.Tab, { as, said, until, onundo }: Marking) =>
      attempt(async () => sayMarked(await markRows(rows, tab, as, until), said, onundo)),
    /** A row that is opened is read; that is not said, and `u` marks it as unread again. */
    markOpened: (row: Row, tab: inbox.Tab) => attempt(() => markRows([row], tab, 'read')),
    markInformationRead: (tab: inbox.Tab) =>
      attempt(async () =>
        sayMarked(
          await inbox.mark(userId, { tab, filter: { needsMe: false } }, 'read'),
          'Information is marked as read.',
        ),
      ),
    mute: muteIt,
    muteAssetOf: (row: Row) => {
      const { id, type, fullyQualifiedName } = assetOf(row.entry);
      const body: MuteRequest = { kind: 'asset', id, type, until: serverNow() + 7 * DAY_MS };
      return muteIt(body, `${nameOf(fullyQualifiedName)} is muted for a week.`);
    },
  };
}
