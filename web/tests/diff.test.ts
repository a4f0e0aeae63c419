import { expect, test } from 'vitest';
import { diffOf } from '../src/words/diff';
import { lastedOf, tableOfLink } from '../src/words/incidents';

test('a text is compared by word, and put together again it is the text after', () => {
  const parts = diffOf('Orders placed in the shop.', 'Every order placed in the shop, from checkout.');
  expect(parts[0]).toEqual({ text: 'Orders', kind: 'gone' });
  const rest = parts.filter(({ kind }) => kind !== 'gone').map(({ text }) => text);
  expect(rest.join('')).toBe('Every order placed in the shop, from checkout.');
  expect(
    diffOf('Orders and baskets by day.', 'Sales of the week, per shop.').map(({ kind }) => kind),
  ).toEqual(['gone', 'new']); // too little stayed to be read as one text
  expect(diffOf('', 'new')).toEqual([{ text: 'new', kind: 'new' }]);
  expect(diffOf('same', 'same')).toEqual([{ text: 'same', kind: 'same' }]);
});

test('how long something lasted is said in the largest units that fit', () => {
  expect(lastedOf(0, 20_000)).toBe('under 1 min');
  expect(lastedOf(0, 14 * 60_000)).toBe('14 min');
  expect(lastedOf(0, 170 * 60_000)).toBe('2 h 50');
  expect(lastedOf(0, 72 * 3_600_000)).toBe('3 days');
});

test('the link of a test names its table', () => {
  const table = { type: 'table', fullyQualifiedName: 'shop.public.orders' };
  expect(tableOfLink('<#E::table::shop.public.orders::columns::id>')).toEqual(table);
  expect(tableOfLink('<#E::table::shop.public.orders>')).toEqual(table);
  expect(tableOfLink('')).toBeNull();
});
