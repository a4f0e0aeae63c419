// An alert on a search: its facets as a condition that the builder opens with.
import { NOBODY, type SearchFilters } from '../../api/search';

const quoted = (values: readonly string[]) =>
  `{${values.map((value) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`).join(', ')}}`;
const word = /^[\p{L}\p{N}_.-]+$/u;

/** Return the builder's address with what a search says; null where facets mean something else each day. */
export function alertAddressOf(filters: SearchFilters): string | null {
  if (filters.state.length || filters.mine.length || filters.owner.includes(NOBODY)) return null;
  const q = filters.q.trim();
  if (q && !word.test(q)) return null; // a condition compares names, it does not search texts
  const functions = {
    owner: 'matchAnyOwnerName',
    tier: 'matchAnyTier',
    service: 'matchAnyService',
    domain: 'matchAnyDomain',
  } as const;
  const parts = (['owner', 'tier', 'service', 'domain'] as const)
    .filter((key) => filters[key].length)
    .map((key) => `${functions[key]}(${quoted(filters[key])})`);
  if (q) parts.push(`entityFullyQualifiedName.contains(${quoted([q]).slice(1, -1)})`);
  if (!parts.length && !filters.type.length) return null;
  const query = new URLSearchParams();
  if (filters.type.length) query.set('resources', filters.type.join(','));
  if (parts.length) query.set('condition', parts.join(' && '));
  return `/alerts/new?${query}`;
}
