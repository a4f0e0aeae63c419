import { beforeEach, expect, test, vi } from 'vitest';
import * as assets from '../src/api/assets';
import { ApiError } from '../src/api/client';
import { giveBack } from '../src/pages/asset/owners';

vi.mock('../src/api/assets', () => ({ readEntity: vi.fn(), patchEntity: vi.fn() }));
const person = (id: string) => ({ id, type: 'user', name: id });
const owned = (...ids: string[]) =>
  ({ id: 't', name: 'orders', updatedBy: 'owen', owners: ids.map(person) }) as never as assets.LoadedEntity;
const change = { mine: [person('dana'), person('priya')], before: [person('owen')] };
const read = vi.mocked(assets.readEntity);
const patch = vi.mocked(assets.patchEntity);

beforeEach(() => {
  read.mockReset();
  patch.mockReset().mockResolvedValue(undefined as never);
});

test('Undo gives the owners back that there were', async () => {
  read.mockResolvedValue(owned('priya', 'dana'));
  expect(await giveBack('table', owned(), change)).toBeNull();
  expect(patch.mock.calls[0]?.[2]).toEqual([
    { op: 'add', path: '/owners', value: [{ id: 'owen', type: 'user' }] },
  ]);
});

test('Undo leaves the owners that others have set since', async () => {
  read.mockResolvedValue(owned('lee'));
  expect((await giveBack('table', owned(), change))?.owners?.[0]?.id).toBe('lee');
  expect(patch).not.toHaveBeenCalled();
});

test('Undo that comes second says so', async () => {
  read.mockResolvedValueOnce(owned('dana', 'priya')).mockResolvedValueOnce(owned('lee'));
  patch.mockRejectedValue(new ApiError(412, 'It was changed.'));
  expect((await giveBack('table', owned(), change))?.owners?.[0]?.id).toBe('lee');
});
