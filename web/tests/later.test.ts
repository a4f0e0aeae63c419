import { expect, test, vi } from 'vitest';
import { laterOf } from '../src/app/later';

test('a part that did not load is loaded again by the next who wants it, and only then', async () => {
  const part = (() => ({})) as never;
  const load = vi.fn<() => Promise<{ default: never }>>();
  load.mockRejectedValueOnce(new Error('no network')).mockResolvedValue({ default: part });
  const later = laterOf(load);
  await expect(later.part).rejects.toThrow('no network');
  await expect(later.part).resolves.toBe(part);
  later.begin();
  expect(load).toHaveBeenCalledTimes(2);
});
