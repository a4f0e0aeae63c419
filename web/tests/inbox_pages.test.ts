import { QueryClient, setQueryClientContext } from '@tanstack/svelte-query';
import { mount, unmount } from 'svelte';
import { afterEach, expect, test, vi } from 'vitest';
import { api } from '../src/api/client';
import { rowsOf } from '../src/pages/inbox/list.svelte';

afterEach(() => vi.restoreAllMocks());

const entry = {
  id: 'n1',
  eventId: 'e1',
  title: 'orders: row count failed',
  timestamp: 1,
  read: false,
  semanticChanges: [],
};
type Asking = { params: { query: { after?: string } } };

/** Mount a list whose pages are these; return it and how to let it go. */
function listOf(pages: readonly (object | Error)[]) {
  const asked: string[] = [];
  vi.spyOn(api, 'GET').mockImplementation((async (path: string, asking: Asking) => {
    const at = Number(asking.params.query.after ?? 0);
    if (path.endsWith('causes')) return { data: { data: [], paging: {} }, response: new Response() };
    asked.push(`${at}`);
    const page = pages[at]!;
    if (page instanceof Error) throw page;
    return { data: page, response: new Response() };
  }) as never);
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  let list!: ReturnType<typeof rowsOf>;
  const part = mount(
    (() => {
      setQueryClientContext(client);
      list = rowsOf('me', () => ({ tab: 'all', kinds: [], words: 'orders' }));
    }) as never,
    { target: document.body, context: new Map() },
  );
  return { list, asked, end: () => unmount(part) };
}

test('a list whose first pages are empty goes on to the page that has a row', async () => {
  const empty = (after: string) => ({ data: [], paging: { after } });
  const pages = [empty('1'), empty('2'), { data: [entry], paging: { after: '3' } }];
  const { list, asked, end } = listOf(pages);
  await expect.poll(() => list.needed.map(({ id }) => id)).toEqual(['n1']);
  expect([list.isSearching, asked]).toEqual([false, ['0', '1', '2']]);
  await end();
});

test('a list that cannot go on ends its search', async () => {
  const { list, asked, end } = listOf([{ data: [], paging: { after: '1' } }, new Error('no answer')]);
  await expect.poll(() => asked.length).toBe(2);
  await expect.poll(() => list.isSearching).toBe(false);
  expect(asked).toEqual(['0', '1']);
  await end();
});
