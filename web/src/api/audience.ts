// Who was told of an event, page by page.
import { api, dataOf } from './client';
import type { components } from './schema';

export type Audience = components['schemas']['Audience'];
export type Told = Audience['data'][number];

const FIRST_PAGE = 20;
const PAGE = 100;

/** Return the query of who was told of an event: a first few, then more at a time. */
export const audiencePages = (eventId: string) => ({
  queryKey: ['audience', eventId],
  queryFn: ({ pageParam }: { pageParam: number }) =>
    dataOf(
      api.GET('/api/v1/events/{event_id}/audience', {
        params: {
          path: { event_id: eventId },
          query: { limit: pageParam ? PAGE : FIRST_PAGE, after: pageParam },
        },
      }),
    ),
  initialPageParam: 0,
  getNextPageParam: (page: Audience, pages: readonly Audience[]) => {
    const count = toldOf(pages).length;
    return page.data.length && count < (page.paging.total ?? 0) ? count : undefined;
  },
});

/** Return all who were told, as far as they are read. */
export const toldOf = (pages: readonly Audience[] | undefined): Told[] =>
  (pages ?? []).flatMap(({ data }) => data);
