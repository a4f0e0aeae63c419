// What pages read: each answer is kept, shown at once when a page opens again, and read anew behind it.
import { QueryClient } from '@tanstack/svelte-query';
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
