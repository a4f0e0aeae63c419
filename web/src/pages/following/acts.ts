// What can be done with follows: choices, mutes and ends, each said with its undo.
import * as follows from '../../api/follows';
import { mute, unmute } from '../../api/preferences';
import { toasts } from '../../app/toasts.svelte';
import { serverNow } from '../../words/now';

const DAY_MS = 86_400_000;
type List = readonly follows.Followed[];

/** Return what a list is called: the asset, or how many follows. */
export const nounOf = (list: List): string =>
  list.length === 1 ? (list[0]!.asset.name ?? 'it') : `${list.length} follows`;

export class Acts {
  constructor(
    readonly userId: string,
    readonly refresh: () => Promise<unknown>,
  ) {}

  async #attempt(act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      toasts.say(error instanceof Error ? error.message : String(error));
    }
    await this.refresh();
  }
  #undo = (act: () => Promise<unknown>) => () => void this.#attempt(act);

  choose = (list: List, choices: follows.FollowChoices, label: string) =>
    this.#attempt(async () => {
      await follows.chooseMany(this.userId, list, choices);
      toasts.say(
        `${nounOf(list)}: ${label}.`,
        this.#undo(async () => {
          for (const row of list) await follows.chooseFollow(this.userId, row, row.preferences ?? {});
        }),
      );
    });
  unfollow = (list: List) =>
    this.#attempt(async () => {
      await follows.unfollowMany(this.userId, list);
      toasts.say(
        `You no longer follow ${nounOf(list)}.`,
        this.#undo(() => follows.followAgain(this.userId, list)),
      );
    });
  muteFor = (list: List, days: number) =>
    this.#attempt(async () => {
      const until = serverNow() + days * DAY_MS;
      for (const { asset } of list)
        await mute(this.userId, { kind: 'asset', id: asset.id, type: asset.type, until });
      toasts.say(
        `Muted ${nounOf(list)} for ${days === 1 ? 'a day' : `${days} days`}.`,
        this.#undo(async () => {
          for (const { asset } of list) await unmute(this.userId, asset.id);
        }),
      );
    });
  unmute = (row: follows.Followed) =>
    this.#attempt(async () => {
      await unmute(this.userId, row.asset.id);
      toasts.say(`You hear of ${nounOf([row])} again.`);
    });
  pause = (days: number) =>
    this.#attempt(async () => {
      await mute(this.userId, { kind: 'everything', until: serverNow() + days * DAY_MS });
      toasts.say(
        'Everything is muted.',
        this.#undo(() => unmute(this.userId, 'everything')),
      );
    });
}
