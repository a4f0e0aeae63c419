import { expect, test } from 'vitest';
import { parseFragment } from '../src/app/old_addresses';
import { addressOf, typeOfCollection } from '../src/words/types';

const ID = '0190a0de-0000-7000-8000-000000000001';

test.each([
  [`#/tables/${ID}`, { address: { collection: 'tables', id: ID }, opened: null }],
  [
    `#/dataQuality/testCases/${ID}?opened=t.1`,
    { address: { collection: 'dataQuality/testCases', id: ID }, opened: 't.1' },
  ],
  ['#/incidents/INC-7?opened=t', { address: { path: '/incidents/INC-7' }, opened: 't' }],
  [`#/events/${ID}?opened=t`, { address: { path: `/events/${ID}` }, opened: 't' }],
  ['#/changes/CR-12', { address: { path: '/changes/CR-12' }, opened: null }],
  ['#/alerts', { address: { path: '/alerts' }, opened: null }],
  ['#/', { address: { path: '/' }, opened: null }],
  ['#login=code', null],
  ['#token=stolen', null],
  ['', null],
])('%s', (fragment, parsed) => expect(parseFragment(fragment)).toEqual(parsed));

test('an asset has the address of its type and full name', () => {
  expect(addressOf('table', 'shop."a/b".c')).toBe('/table/shop.%22a%2Fb%22.c');
  expect(addressOf('eventsubscription', 'Tier1')).toBe('/alerts/Tier1');
  expect(typeOfCollection('dataQuality/testCases')).toBe('testCase');
});
