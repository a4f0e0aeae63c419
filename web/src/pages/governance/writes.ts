// What is done with things of governance: made, named, moved, deleted; each with the way back.
import type { QueryClient } from '@tanstack/svelte-query';
import { write } from '../../api/collections';
import { go } from '../../app/router.svelte';
import { toasts } from '../../app/toasts.svelte';
import { calledOf, type Reference } from '../../words/references';
import { collectionOf } from '../../words/types';
import { placeIn } from './kinds';

type Made = { id: string; name: string; fullyQualifiedName: string; displayName?: string };

/** Read again all that the pages of governance show. */
export const refresh = (client: QueryClient): Promise<void> =>
  client.invalidateQueries({
    predicate: ({ queryKey }) => queryKey[0] === 'governance' || queryKey[0] === 'entity',
  });

/** Make something below `parent`, open it, and offer to take it back. */
export async function make(client: QueryClient, type: string, body: Record<string, unknown>): Promise<void> {
  const made = await write<Made>('POST', collectionOf(type) ?? type, body);
  await refresh(client);
  go(placeIn({ type, fullyQualifiedName: made.fullyQualifiedName }));
  toasts.say(`${made.displayName || made.name} is created.`, () => void unmake(client, type, made));
}
async function unmake(client: QueryClient, type: string, made: Made): Promise<void> {
  await say(async () => {
    await write('DELETE', `${collectionOf(type)}/${made.id}?hardDelete=true`);
    const [path] = placeIn({ type, fullyQualifiedName: made.fullyQualifiedName }).split(
      `/${encodeURIComponent(made.fullyQualifiedName)}`,
    );
    go(path ?? '/governance');
  });
  await refresh(client);
}

type Kept = Pick<Reference, 'id' | 'name' | 'displayName'> & { type: string; fullyQualifiedName: string };
/** Delete something, with what lies below it, and offer to restore it. */
export async function remove(client: QueryClient, thing: Kept): Promise<void> {
  const collection = collectionOf(thing.type);
  await say(async () => {
    await write('DELETE', `${collection}/${thing.id}?recursive=true`);
    const restore = async () => {
      await say(() => write('PUT', `${collection}/restore`, { id: thing.id }));
      await refresh(client);
      go(placeIn(thing));
    };
    const place = placeIn(thing);
    go(place.slice(0, place.lastIndexOf('/')));
    toasts.say(`${calledOf(thing)} is deleted.`, () => void restore());
  });
  await refresh(client);
}

/** Do something, and say what the server refused. */
export async function say(act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (refusal) {
    toasts.say((refusal as Error).message);
  }
}
