import { expect, test } from 'vitest';
import { parametersOf } from '../src/app/router.svelte';

test.each([
  ['/', '/', {}],
  ['/inbox', '/inbox', {}],
  ['/inbox', '/inbox/', {}],
  ['/inbox/:id', '/inbox/7', { id: '7' }],
  ['/:type/:fqn', '/table/shop.%22a.b%22.c%2Fd', { type: 'table', fqn: 'shop."a.b".c/d' }],
  ['/:type/:fqn', '/table/100%', { type: 'table', fqn: '100%' }],
  ['/x/:rest*', '/x/a/b', { rest: 'a/b' }],
  ['/inbox', '/inbox/7', null],
  ['/inbox/:id', '/inbox', null],
  ['/inbox', '/alerts', null],
])('%s takes %s', (pattern, path, parameters) => {
  expect(parametersOf(pattern, path)).toEqual(parameters);
});
