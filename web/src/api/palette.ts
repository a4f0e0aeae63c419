// What the palette finds: assets and people by words, alerts by how their names begin.
import { api, dataOf } from './client';
import { unfinished } from './search';

export type Hit = { type: string; name: string; fullName: string };

const MOST = 8;
const MOST_ALERTS = 4;
const SHOWN = ['entityType', 'name', 'displayName', 'fullyQualifiedName'];
type Source = { entityType: string; name: string; displayName?: string; fullyQualifiedName: string };

export async function findHits(text: string): Promise<Hit[]> {
  const q = unfinished(text.replace(/[^\p{L}\p{N}_.\-\s]/gu, ' ').trim());
  if (!q) return [];
  const [found, alerts] = await Promise.all([
    dataOf(
      api.GET('/api/v1/search/query', {
        params: { query: { q, index: 'all,user,team', size: MOST, include_source_fields: SHOWN } },
      }),
    ),
    dataOf(
      api.GET('/api/v1/events/subscriptions', {
        params: { query: { namePrefix: text.trim(), limit: MOST_ALERTS, fields: 'displayName' } },
      }),
    ),
  ]);
  const assets = found.hits.hits.map(({ _source }) => {
    const source = _source as Source;
    const isPerson = source.entityType === 'user' || source.entityType === 'team';
    return {
      type: source.entityType,
      name: (isPerson && source.displayName) || source.name,
      fullName: source.fullyQualifiedName,
    };
  });
  const named = (alerts as { data: { name: string }[] }).data.map(({ name }) => ({
    type: 'eventsubscription',
    name,
    fullName: name,
  }));
  return [...assets, ...named];
}
