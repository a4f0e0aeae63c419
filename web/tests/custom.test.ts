import { expect, test } from 'vitest';
import {
  choicesOf,
  draftOf,
  editorOf,
  formOf,
  isSame,
  tableColumnsOf,
  targetsOf,
  textsOf,
  valueOf,
  writeOf,
  writtenOf,
} from '../src/pages/asset/custom';

const property = (type: string, config?: object | string) => ({
  name: 'p',
  propertyType: { name: type },
  ...(config === undefined ? {} : { customPropertyConfig: { config } }),
});

test('each property is edited by its type, and one of an unknown type not at all', () => {
  expect(editorOf(property('integer'))).toBe('whole');
  expect(editorOf(property('markdown'))).toBe('text');
  expect(editorOf(property('enum', { values: ['a', 'b'], multiSelect: true }))).toBe('choices');
  expect(editorOf(property('enum', { values: ['a', 'b'] }))).toBe('choice');
  expect(editorOf(property('entityReferenceList', ['user']))).toBe('references');
  expect(editorOf(property('table-cp', { columns: ['a'] }))).toBe('table');
  expect(editorOf({ name: 'of a type that is gone' })).toBeUndefined();
  expect(choicesOf(property('enum', { values: ['a', 'b'] }))).toEqual(['a', 'b']);
  expect(choicesOf(property('entityReference', ['user']))).toEqual([]);
  expect(formOf(property('date-cp', 'yyyy-MM-dd'))).toBe('yyyy-MM-dd');
  expect(targetsOf(property('entityReference', ['user']))).toEqual(['user']);
  expect([targetsOf(property('entityReference')), tableColumnsOf(property('string'))]).toEqual([[], []]);
});

test('what was typed is written as its type has it; nothing takes it away', () => {
  expect(valueOf('whole', ['12'])).toBe(12);
  expect(valueOf('choice', ['a'])).toEqual(['a']);
  expect(valueOf('line', ['  '])).toBeUndefined();
  const atMs = Date.UTC(2026, 10, 25, 8, 30);
  expect(valueOf('time', textsOf('time', atMs))).toBe(atMs);
  expect(valueOf('time', textsOf('time', atMs + 12_345))).toBe(atMs + 12_345);
  expect(textsOf('choices', ['a', 'b'])).toEqual(['a', 'b']);
  expect([isSame(atMs, atMs), isSame(['a'], ['a']), isSame(undefined, 1)]).toEqual([true, true, false]);
});

test('references are written by id and type, and what answers add to them is no change', () => {
  const alice = { id: '1', type: 'user', name: 'alice', href: 'http://x', deleted: false };
  const one = property('entityReference', ['user']);
  const several = property('entityReferenceList', ['user']);
  expect(writtenOf(one, draftOf('reference', alice))).toEqual({ id: '1', type: 'user' });
  expect(writtenOf(several, draftOf('references', [alice]))).toEqual([{ id: '1', type: 'user' }]);
  expect([writtenOf(one, draftOf('reference', undefined)), writtenOf(several, { texts: [] })]).toEqual([
    undefined,
    undefined,
  ]);
  const answered = { id: '1', type: 'user', href: 'http://x', deleted: false };
  expect(isSame({ id: '1', type: 'user' }, answered)).toBe(true);
  expect(isSame({ id: '2', type: 'user' }, answered)).toBe(false);
});

test('an interval has both its ends in their order, a link its address', () => {
  const interval = property('timeInterval');
  const value = { start: Date.UTC(2026, 10, 25, 8), end: Date.UTC(2026, 10, 25, 9, 30) };
  const draft = draftOf('interval', value);
  expect(writtenOf(interval, draft)).toEqual(value);
  expect(writtenOf(interval, { texts: ['', ''] })).toBeUndefined();
  expect(() => writtenOf(interval, { texts: [draft.texts[0]!, ''] })).toThrow('needs a beginning and an end');
  expect(() => writtenOf(interval, { texts: draft.texts.toReversed() })).toThrow(
    'must not be before the beginning',
  );
  const link = property('hyperlink-cp');
  expect(writtenOf(link, draftOf('link', { url: 'https://x' }))).toEqual({ url: 'https://x' });
  expect(writtenOf(link, { texts: ['https://x', 'X'] })).toEqual({ url: 'https://x', displayText: 'X' });
  expect(() => writtenOf(link, { texts: ['', 'X'] })).toThrow('needs its address');
});

test('a table is written with the columns of its property and without empty rows', () => {
  const table = property('table-cp', { columns: ['a', 'b'] });
  const value = { columns: ['a', 'b'], rows: [{ a: '1' }, { b: 'x' }] };
  expect(writtenOf(table, draftOf('table', value))).toEqual(value);
  expect(writtenOf(table, { texts: [], rows: [{ a: ' ' }, { b: '2' }] })).toEqual({
    columns: ['a', 'b'],
    rows: [{ b: '2' }],
  });
  expect(writtenOf(table, { texts: [], rows: [{ a: '' }] })).toBeUndefined();
});

test('a property is written where others are, or as the first of all', () => {
  expect(writeOf({ other: 1 }, 'a/b', 'x')).toEqual([{ op: 'add', path: '/extension/a~1b', value: 'x' }]);
  expect(writeOf(undefined, 'a', 'x')).toEqual([{ op: 'add', path: '/extension', value: { a: 'x' } }]);
  expect(writeOf({ a: 1 }, 'a', undefined)).toEqual([{ op: 'remove', path: '/extension/a' }]);
  expect(writeOf({}, 'a', undefined)).toEqual([]);
});
