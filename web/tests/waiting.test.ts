import { expect, test } from 'vitest';
import { kindsOf } from '../src/words/kinds';
import { keyOfCause, parted } from '../src/words/waiting';

test('rows that came later wait, those that were shown stay at their places', () => {
  const rows = [{ key: 'new' }, { key: 'a' }, { key: 'b' }];
  expect(parted(rows, null).waiting).toEqual([]);
  const { shown, waiting } = parted(rows, new Set(['a', 'b']));
  expect(shown.map(({ key }) => key)).toEqual(['a', 'b']);
  expect(waiting.map(({ key }) => key)).toEqual(['new']);
});

test('a cause that grows is the same row', () => {
  expect(keyOfCause('03e1fb90.1899.1899')).toBe(keyOfCause('03e1fb90.1899.1904'));
  expect(keyOfCause('03e1fb90.1899.1904')).not.toBe(keyOfCause('03e1fb90.2310.2310')); // edits of the next morning
});

test('a group of kinds is what the API filters by', () => {
  expect(kindsOf('failures')).toContain('testFailure');
  expect(kindsOf('nonsense')).toEqual([]);
});
