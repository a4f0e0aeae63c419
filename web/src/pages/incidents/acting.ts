// Acts on incidents: what was done is said, refusals too, and every list that shows incidents is read anew.
import type { QueryClient } from '@tanstack/svelte-query';
import { toasts } from '../../app/toasts.svelte';

/** Do something and say it, if there is something to say; resolves to why not, or null. */
export type Act = (doing: () => Promise<unknown>, said: string) => Promise<string | null>;

/** Return how one acts on incidents. */
export const actingOf =
  (client: QueryClient): Act =>
  async (doing, said) => {
    try {
      await doing();
      if (said) toasts.say(said);
      return null;
    } catch (refusal) {
      if (said) toasts.say((refusal as Error).message);
      return (refusal as Error).message;
    } finally {
      const keys = [['incidents'], ['inbox'], ['audience'], ['waiting']];
      await Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })));
    }
  };
