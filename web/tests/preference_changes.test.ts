import { beforeEach, expect, test, vi } from 'vitest';
import { ApiError } from '../src/api/client';
import * as api from '../src/api/preferences';
import { changeNewest } from '../src/pages/settings/changes';

vi.mock('../src/api/preferences', () => ({ taggedPreferencesOf: vi.fn(), putPreferences: vi.fn() }));
const read = vi.mocked(api.taggedPreferencesOf);
const put = vi.mocked(api.putPreferences);
const tagged = (preferences: object, etag: string) => ({ preferences, etag }) as api.Tagged;
const meanwhile = new ApiError(412, 'The preferences have changed since they were read.');
const daily = (preferences: api.Preferences) => ({ ...preferences, frequency: 'daily' as const });

beforeEach(() => {
  vi.resetAllMocks();
});

test('what another tab has changed meanwhile is read again and kept', async () => {
  read.mockResolvedValueOnce(tagged({ timezone: 'UTC' }, '"1"'));
  read.mockResolvedValueOnce(tagged({ timezone: 'Europe/Berlin' }, '"2"'));
  const now = tagged({}, '"3"');
  put.mockRejectedValueOnce(meanwhile).mockResolvedValueOnce(now);
  expect(await changeNewest('ann', daily)).toEqual({ previous: { timezone: 'Europe/Berlin' }, now });
  expect(put.mock.calls.map(([, body, etag]) => [body, etag])).toEqual([
    [{ timezone: 'UTC', frequency: 'daily' }, '"1"'],
    [{ timezone: 'Europe/Berlin', frequency: 'daily' }, '"2"'],
  ]);
});

test('it ends when it is changed again and again, and at once for another error', async () => {
  read.mockResolvedValue(tagged({}, '"1"'));
  put.mockRejectedValue(meanwhile);
  await expect(changeNewest('ann', daily)).rejects.toBe(meanwhile);
  expect(put).toHaveBeenCalledTimes(3);
  const refused = new ApiError(400, 'is mandatory here');
  put.mockRejectedValue(refused);
  await expect(changeNewest('ann', daily)).rejects.toBe(refused);
  expect(put).toHaveBeenCalledTimes(4);
});
