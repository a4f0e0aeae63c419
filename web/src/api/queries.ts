// What pages read: each answer is kept, shown at once when a page opens again, and read anew behind it.
import { QueryClient, type QueryKey } from '@tanstack/svelte-query';
import { ApiError } from './client';

const MOST_RETRIES = 3;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      notifyOnChangeProps: 'all', // what a template reads later only, behind an `||`, would stay old
      retry: (count, error) => error instanceof ApiError && error.status === 0 && count < MOST_RETRIES,
    },
  },
});

/** Read again what is shown of this. What is being read for the first time may have missed what came: it is read twice. */
export async function readAgain(client: QueryClient, queryKey: QueryKey): Promise<void> {
  const isFirst = ({ state }: { state: { data: unknown } }) => state.data === undefined;
  const begun = client.getQueryCache().findAll({ queryKey, fetchStatus: 'fetching', predicate: isFirst });
  await client.invalidateQueries({ queryKey });
  await Promise.all(
    begun.map((query) => client.invalidateQueries({ queryKey: query.queryKey, exact: true })),
  );
}
