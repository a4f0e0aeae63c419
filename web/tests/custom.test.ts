import { expect, test } from 'vitest';
import { choicesOf, editorOf, formOf, isSame, textsOf, valueOf, writeOf } from '../src/pages/asset/custom';

const property = (type: string, config?: object | string) => ({
  name: 'p',
  propertyType: { name: type },
  ...(config === undefined ? {} : { customPropertyConfig: { config } }),
});

test('each property is edited by its type, and what only programs write not at all', () => {
  expect(editorOf(property('integer'))).toBe('whole');
  expect(editorOf(property('markdown'))).toBe('text');
  expect(editorOf(property('enum', { values: ['a', 'b'], multiSelect: true }))).toBe('choices');
  expect(editorOf(property('enum', { values: ['a', 'b'] }))).toBe('choice');
  expect(editorOf(property('entityReferenceList', ['user']))).toBeUndefined();
  expect(editorOf({ name: 'of a type that is gone' })).toBeUndefined();
  expect(choicesOf(property('enum', { values: ['a', 'b'] }))).toEqual(['a', 'b']);
  expect(choicesOf(property('entityReference', ['user']))).toEqual([]);
  expect(formOf(property('date-cp', 'yyyy-MM-dd'))).toBe('yyyy-MM-dd');
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

test('a property is written where others are, or as the first of all', () => {
  expect(writeOf({ other: 1 }, 'a/b', 'x')).toEqual([{ op: 'add', path: '/extension/a~1b', value: 'x' }]);
  expect(writeOf(undefined, 'a', 'x')).toEqual([{ op: 'add', path: '/extension', value: { a: 'x' } }]);
  expect(writeOf({ a: 1 }, 'a', undefined)).toEqual([{ op: 'remove', path: '/extension/a' }]);
  expect(writeOf({}, 'a', undefined)).toEqual([]);
});
