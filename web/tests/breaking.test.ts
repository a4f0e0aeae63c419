import { afterEach, expect, test, vi } from 'vitest';
import { readBreaking } from '../src/api/breaking';
import { api } from '../src/api/client';

afterEach(() => vi.restoreAllMocks());

test('what broke readers is said shortly, once for each asset, its newest change', async () => {
  const event = (id: string, entityId: string, timestamp: number, field: string) => ({
    id,
    entityId,
    timestamp,
    title: `orders: breaking: column ${field} TEXT removed`,
    breakingReasons: [
      { text: `column ${field} TEXT removed`, field: `columns.${field}` },
      { text: 'column b INT → TEXT' },
    ],
    semanticChanges: [{ target: `columns.${field}`, text: `column ${field} removed` }],
  });
  const asked: string[] = [];
  vi.spyOn(api, 'GET').mockImplementation((async (path: string) => {
    asked.push(path);
    const data = [event('first', 'orders', 7, 'note'), event('later', 'orders', 9, 'cart_id')];
    return { data: { data, paging: {} }, response: new Response() };
  }) as never);
  const { marks, isCut } = await readBreaking(5);
  expect(isCut).toBe(false);
  expect([...marks]).toEqual([
    ['orders', [{ kind: 'breaking', name: 'later', text: 'cart_id removed +1', dateMs: 9 }]],
  ]);
  expect(asked).toEqual(['/api/v1/events?breaking=true&timestamp=5&format=tocsin&limit=1000']);
});

test('of a long week every page is read, and it is said where even that is not all', async () => {
  const asked: string[] = [];
  let pages = 2;
  vi.spyOn(api, 'GET').mockImplementation((async (path: string) => {
    const at = asked.push(path);
    const data = [{ id: `e${at}`, entityId: `a${Math.min(at, 2)}`, timestamp: at, title: 'broken' }];
    return { data: { data, paging: at < pages ? { after: `${at}000` } : {} }, response: new Response() };
  }) as never);
  const { marks, isCut } = await readBreaking(5, 'asset');
  expect([[...marks.keys()], isCut]).toEqual([['a1', 'a2'], false]);
  expect(asked[1]).toBe(
    '/api/v1/events?breaking=true&timestamp=5&format=tocsin&limit=1000&entityId=asset&after=1000',
  );
  asked.length = 0;
  pages = Infinity;
  expect((await readBreaking(5)).isCut).toBe(true);
});
