// Lineage: what an asset is made of and what is made from it, and what a change of it would affect.
import type { components } from './schema';
import { api, dataOf } from './client';
import { askedTogether } from './together';

type Schemas = components['schemas'];
export type Impact = Schemas['Impact'];
export type Reference = {
  id: string;
  type: string;
  name?: string;
  fullyQualifiedName?: string;
  displayName?: string;
};
export type Edge = {
  fromEntity: string;
  toEntity: string;
  lineageDetails?: { columnsLineage?: ColumnEdge[] };
};
type ColumnEdge = { fromColumns?: string[]; toColumn?: string };
export type Lineage = {
  entity: Reference;
  nodes: Reference[];
  upstreamEdges: Edge[];
  downstreamEdges: Edge[];
};
export type Affected = Reference & {
  level: number;
  via?: Reference;
  owners: Reference[];
  basis?: 'column' | 'table';
  affectedColumns?: string[];
};

const DEEPEST = 50;
const MOST = 1000;

/** Return the graph around an asset, so many steps above and below it. */
export async function readLineage(type: string, fqn: string, above: number, below: number): Promise<Lineage> {
  const path = { entity_type: type, fqn };
  const params = { path, query: { upstreamDepth: above, downstreamDepth: below } };
  const answer = await dataOf(api.GET('/api/v1/lineage/{entity_type}/name/{fqn}', { params }));
  const lineage = answer as unknown as Partial<Lineage> & { entity: Reference };
  return { nodes: [], upstreamEdges: [], downstreamEdges: [], ...lineage };
}

/** Return all that a change of an asset, or of a column of it, affects, with the owners. */
export async function readWholeImpact(type: string, fqn: string, column: string): Promise<Impact> {
  const query = { depth: DEEPEST, limit: MOST, ...(column ? { columns: column as never } : {}) };
  const params = { path: { entity_type: type, fqn }, query };
  return dataOf(api.GET('/api/v1/lineage/{entity_type}/name/{fqn}/impact', { params }));
}

export type Recipients = Schemas['CheckedChanges']['recipients'];

/** Return whom alerts would tell if an asset, or a column of it, were removed now, as far as one may know. */
export async function readRecipients(type: string, fqn: string, column: string): Promise<Recipients> {
  const removal = column ? { removedColumns: [column] } : { deleted: true };
  const changes = [{ entityType: type, fullyQualifiedName: fqn, ...removal }];
  return (await dataOf(api.POST('/api/v1/changes/check', { body: { changes, people: true } }))).recipients;
}

export type Below = Schemas['ImpactCounts']['data'][number];
const MOST_COUNTED = 50;

/** Return how many assets lie below one, if one may see it; the rows of a list ask in one request. */
export const belowOf: (id: string) => Promise<Below | undefined> = askedTogether(async (ids) => {
  const params = { query: { assets: ids.join(',') } };
  const { data } = await dataOf(api.GET('/api/v1/lineage/counts', { params }));
  return new Map(data.map((each) => [each.id, each]));
}, MOST_COUNTED);

/** Return the affected assets in one list, nearest first. */
export const affectedOf = (impact: Impact | undefined): readonly Affected[] =>
  (Object.values(impact?.affected ?? {}).flat() as unknown as Affected[]).toSorted(
    (one, other) => one.level - other.level || (one.name ?? '').localeCompare(other.name ?? ''),
  );

export type Above = Reference & { level: number };

/** Return what an asset is made from, nearest first, with the steps between. */
export function aboveOf({ entity, nodes, upstreamEdges }: Lineage): Above[] {
  const levels = new Map([[entity.id, 0]]);
  for (let frontier = [entity.id]; frontier.length;) {
    const edges = upstreamEdges.filter(
      ({ fromEntity, toEntity }) => frontier.includes(toEntity) && !levels.has(fromEntity),
    );
    frontier = [...new Set(edges.map(({ fromEntity }) => fromEntity))];
    const level = Math.max(...levels.values()) + 1;
    for (const id of frontier) levels.set(id, level);
  }
  return nodes
    .filter(({ id }) => id !== entity.id && levels.has(id))
    .map((node) => ({ ...node, level: levels.get(node.id)! }))
    .toSorted((one, other) => one.level - other.level || (one.name ?? '').localeCompare(other.name ?? ''));
}
