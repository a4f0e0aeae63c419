import { expect, test } from 'vitest';
import { askedTogether } from '../src/api/together';

test('what is asked for in one moment is one request, as far as one request takes', async () => {
  const requests: (readonly string[])[] = [];
  const lengthOf = askedTogether((keys) => {
    requests.push(keys);
    return Promise.resolve(new Map(keys.filter((key) => key !== 'gone').map((key) => [key, key.length])));
  }, 3);
  const answers = await Promise.all(['orders', 'carts', 'orders', 'gone', 'returns'].map(lengthOf));
  expect(answers).toEqual([6, 5, 6, undefined, 7]);
  expect(requests).toEqual([['orders', 'carts', 'gone'], ['returns']]);
  expect(await lengthOf('carts')).toBe(5);
  expect(requests).toHaveLength(3);
});

test('a request that fails fails for all that asked, and the next is asked anew', async () => {
  let failures = 1;
  const valueOf = askedTogether(
    (keys) =>
      failures-- > 0
        ? Promise.reject(new Error('offline'))
        : Promise.resolve(new Map(keys.map((key) => [key, 1]))),
    50,
  );
  const results = await Promise.allSettled([valueOf('a'), valueOf('b')]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await valueOf('a')).toBe(1);
});
