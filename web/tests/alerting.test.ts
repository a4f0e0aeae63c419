import { expect, test } from 'vitest';
import { alertAddressOf } from '../src/pages/explore/alerting';
import { filtersOf } from '../src/pages/explore/facets';

const addressOf = (query: string) => alertAddressOf(filtersOf(new URLSearchParams(query)));
const conditionOf = (query: string) => new URLSearchParams(addressOf(query)?.split('?')[1]).get('condition');

test('an alert on a search has its types and facets; names are texts, whatever is in them', () => {
  expect(addressOf('type=table,topic')).toBe('/alerts/new?resources=table%2Ctopic');
  expect(conditionOf('q=orders&owner=dana,Sales&tier=Tier.Tier1')).toBe(
    "matchAnyOwnerName({'dana', 'Sales'}) && matchAnyTier({'Tier.Tier1'}) && entityFullyQualifiedName.contains('orders')",
  );
  expect(conditionOf(`owner=${encodeURIComponent("o'x\\")}`)).toBe("matchAnyOwnerName({'o\\'x\\\\'})");
});

test('what means something else each day, or searches texts, makes no alert', () => {
  for (const query of ['state=failing', 'mine=own', 'owner=-', 'q=owner:dana', 'q=a OR b', ''])
    expect(addressOf(query)).toBeNull();
});
