// What lies in an asset or belongs to it: contents of services, assets of domains, and properties that types were given.
import type { Reference } from '../words/references';
import { collection, type Entity } from './assets';
import { ApiError, api, dataOf } from './client';
import { read } from './collections';
import { askedTogether } from './together';

export type CustomProperty = {
  name: string;
  displayName?: string;
  description?: string;
  propertyType?: { name?: string };
  /** Of a choice its values, of a date its form. */
  customPropertyConfig?: { config?: string | object };
};

/** Return what the organisation has added to the properties of a type. */
export async function readCustomProperties(type: string) {
  const params = { path: { fqn: type }, query: { fields: 'customProperties' as never } };
  const answer = await dataOf(api.GET('/api/v1/metadata/types/name/{fqn}', { params }));
  return (answer as { customProperties?: CustomProperty[] }).customProperties ?? [];
}

const MOST_TOGETHER = 50;
const foundTogether = askedTogether(async (keys) => {
  const references = keys.map((key) => key.split(' ') as [type: string, id: string]);
  const index = [...new Set(references.map(([type]) => type))].join();
  const query_filter = JSON.stringify({ query: { ids: { values: references.map(([, id]) => id) } } });
  const query = { q: '*', index, size: keys.length, query_filter };
  const { hits } = await read<{ hits: { hits: { _source: Entity }[] } }>('search/query', query);
  return new Map(hits.hits.map(({ _source: entity }) => [entity.id, entity]));
}, MOST_TOGETHER);

/**
 * Return what a reference points to, as it is called now; null where the reader may not see it, or it is gone. Those of
 * a page are searched in one request; what the index does not have is read by itself.
 */
export async function readReference({ type, id }: Reference): Promise<Reference | null> {
  const found = await foundTogether(`${type} ${id}`).catch(() => undefined);
  if (found) return { ...(found as unknown as Entity), type };
  const params = { path: { entity_id: id }, query: { include: 'all' as const } };
  try {
    const entity = await dataOf(api.GET(`/api/v1/${collection(type)}/{entity_id}`, { params }));
    return { ...(entity as unknown as Entity), type };
  } catch (error) {
    if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return null;
    throw error;
  }
}

/** The collections whose members are found by what they lie in, and by which parameter. */
const contents: Record<string, readonly [type: string, parameter: string, by: 'id' | 'name']> = {
  databaseService: ['database', 'service', 'name'],
  dashboardService: ['dashboard', 'service', 'name'],
  messagingService: ['topic', 'service', 'name'],
  pipelineService: ['pipeline', 'service', 'name'],
  mlmodelService: ['mlmodel', 'service', 'name'],
  storageService: ['container', 'service', 'name'],
  apiService: ['apiCollection', 'service', 'name'],
  searchService: ['searchIndex', 'service', 'name'],
  glossary: ['glossaryTerm', 'glossary', 'id'],
  classification: ['tag', 'parent', 'name'],
};
/** The same of what names its contents itself, but no more once it is deleted. */
const contentsOfDeleted: typeof contents = {
  database: ['databaseSchema', 'database', 'name'],
  databaseSchema: ['table', 'databaseSchema', 'name'],
};
const memberOf = (type: string, isDeleted: boolean) =>
  contents[type] ?? (isDeleted ? contentsOfDeleted[type] : undefined);
/** Return the type of what lies in an entity of a type; undefined where nothing does. */
export const contentTypeOf = (type: string, isDeleted = false): string | undefined =>
  memberOf(type, isDeleted)?.[0];

/** Return a page of what lies in a service, glossary or classification. */
export async function readContents(
  type: string,
  entity: Entity,
): Promise<{ data: Reference[]; total: number }> {
  const [member, parameter, by] = memberOf(type, !!entity.deleted)!;
  const value = by === 'id' ? entity.id : (entity.fullyQualifiedName ?? entity.name);
  const include = entity.deleted ? { include: 'deleted' } : {}; // what was deleted with it comes back with it
  const params = { query: { [parameter]: value, limit: 100, ...include } as never };
  const page = (await dataOf(
    api.GET(`/api/v1/${collection(member)}` as '/api/v1/tables', { params }),
  )) as unknown as { data: Reference[]; paging: { total?: number } };
  return {
    data: page.data.map((each) => ({ ...each, type: member })),
    total: page.paging.total ?? page.data.length,
  };
}

/** Return a page of the assets of a domain, tag, person or team. */
export const readMembers = async (type: string, fqn: string) =>
  (await dataOf(
    api.GET(`/api/v1/${collection(type)}/name/{fqn}/assets` as '/api/v1/domains/name/{fqn}/assets', {
      params: { path: { fqn }, query: { limit: 100 } },
    }),
  )) as unknown as { data: Reference[]; paging: { total?: number } };
