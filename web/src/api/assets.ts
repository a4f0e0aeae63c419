// Assets of every type: reading, changing, following, versions, tests, runs and activity, by the routes of their collection.
import { serverNow } from '../words/now';
import { collectionOf } from '../words/types';
import type { Reference } from '../words/references';
import { api, ApiError, dataOf } from './client';
import type { components } from './schema';

type Schemas = components['schemas'];
export type Label = Schemas['TagLabel'];
export type Member = {
  name: string;
  displayName?: string;
  dataType?: string;
  dataTypeDisplay?: string;
  dataLength?: number;
  precision?: number;
  scale?: number;
  taskType?: string;
  featureAlgorithm?: string;
  description?: string;
  constraint?: string;
  tags?: Label[];
  children?: Member[];
};
/** An entity of any type, with the fields that pages of assets show. */
export type Entity = {
  id: string;
  name: string;
  displayName?: string;
  fullyQualifiedName?: string;
  description?: string;
  version?: number;
  updatedAt?: number;
  updatedBy?: string;
  deleted?: boolean;
  owners?: Reference[];
  domains?: Reference[];
  dataProducts?: Reference[];
  followers?: Reference[];
  tags?: Label[];
  href?: string;
} & Record<string, unknown>;
export type LoadedEntity = Entity & { etag: string | null };
export type Operation = { op: 'add' | 'replace' | 'remove'; path: string; value?: unknown };
export type FeedEntry = Extract<Schemas['FeedEntryPage']['data'][number], { event: unknown }>;
export type ChangeRequest = {
  id: string;
  name: string;
  status: 'announced' | 'due' | 'done' | 'withdrawn';
  kind: 'removal' | 'type' | 'rename' | 'deprecation';
  column: string | null;
  date: number;
  why: string;
  replacement: string | null;
  answers: { total: number; open: number };
};
export type TestCase = Schemas['TestCase'];

const PAGE = 20;
const DAY_MS = 86_400_000;

/** Return the collection of a type; all have the routes of tables, whose types stand for those of the others. */
export const collection = (type: string): 'tables' => {
  const name = collectionOf(type);
  if (!name) throw new ApiError(404, `There are no pages of the type ${type}.`);
  return name as 'tables';
};

/** Return an entity with all its fields, deleted ones too. */
export async function readEntity(type: string, fqn: string): Promise<LoadedEntity> {
  const params = { path: { fqn }, query: { fields: '*' as never, include: 'all' as const } };
  const { data, response } = await api.GET(`/api/v1/${collection(type)}/name/{fqn}`, { params });
  return { ...(data as unknown as Entity), etag: response.headers.get('ETag') };
}

/** Change an entity as it was read; 412 where another person was first. */
export async function patchEntity(type: string, entity: LoadedEntity, body: Operation[], why = '') {
  const header = { ...(entity.etag ? { 'if-match': entity.etag } : {}), ...whyOf(why) };
  const params = { path: { entity_id: entity.id }, header };
  const headers = { 'Content-Type': 'application/json-patch+json' };
  return dataOf(
    api.PATCH(`/api/v1/${collection(type)}/{entity_id}`, { params, body: body as never, headers }),
  );
}
const whyOf = (why: string): { 'X-Tocsin-Why'?: string } =>
  why.trim() ? { 'X-Tocsin-Why': `UTF-8''${extendedOf(why.trim())}` } : {};
// An extended value of RFC 8187, which leaves fewer characters as they are than encodeURIComponent.
const extendedOf = (text: string): string =>
  encodeURIComponent(text).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** Restore a deleted entity. */
export const restoreEntity = (type: string, id: string) =>
  dataOf(api.PUT(`/api/v1/${collection(type)}/restore`, { body: { id } }));

/** Return which operations one may do with an entity. */
export async function readPermissions(type: string, id: string): Promise<ReadonlySet<string>> {
  const params = { path: { resource: type, entity_id: id } };
  const { permissions } = await dataOf(api.GET('/api/v1/permissions/{resource}/{entity_id}', { params }));
  const isAllowed = (access: string) => access === 'allow' || access === 'conditionalAllow';
  return new Set(permissions.flatMap((each) => (isAllowed(each.access ?? '') ? [each.operation ?? ''] : [])));
}

export type Version = {
  version: number;
  atMs: number;
  by: string;
  words: readonly string[];
  breaking: readonly Schemas['BreakingReason'][];
  reason: string;
  document: Entity & { changeDescription?: Schemas['ChangeDescription'] };
};

/** Return the versions of an entity, newest first, with what changed in words. */
export async function readVersions(type: string, id: string): Promise<readonly Version[]> {
  const params = { path: { entity_id: id }, query: { words: true } };
  const history = await dataOf(api.GET(`/api/v1/${collection(type)}/{entity_id}/versions`, { params }));
  return history.versions.map((text, index) => {
    const document = JSON.parse(String(text)) as Version['document'];
    return {
      version: document.version ?? 0,
      atMs: document.updatedAt ?? 0,
      by: history.authors?.[index] ?? document.updatedBy ?? '',
      words: history.words?.[index] ?? [],
      breaking: history.breaking?.[index] ?? [],
      reason: history.reasons?.[index] ?? '',
      document,
    };
  });
}

/** Return the differences of two versions. */
export const readDifference = (type: string, id: string, from: number, to: number) =>
  dataOf(
    api.GET(`/api/v1/${collection(type)}/{entity_id}/diff`, {
      params: { path: { entity_id: id }, query: { from: from.toFixed(1), to: to.toFixed(1) } as never },
    }),
  );

/** Bring a whole version back, or say what that would do. */
export const rollBack = (type: string, id: string, version: number, { dryRun, why = '' }: RollBackOptions) =>
  dataOf(
    api.POST(`/api/v1/${collection(type)}/{entity_id}/rollback`, {
      params: { path: { entity_id: id }, header: whyOf(why) },
      body: { version, dryRun },
    }),
  );
type RollBackOptions = { dryRun: boolean; why?: string };

/** Return a page of what happened to an entity and below it. */
export const readActivity = async (type: string, id: string, after = 0) =>
  (await dataOf(
    api.GET(`/api/v1/${collection(type)}/{entity_id}/activity`, {
      params: { path: { entity_id: id }, query: { limit: PAGE, ...(after ? { after } : {}) } },
    }),
  )) as { data: FeedEntry[]; paging: { after?: string } };

/** Return the alerts that watch an entity, and whom they tell. */
export const readWatchers = async (type: string, id: string) =>
  (
    await dataOf(
      api.GET(`/api/v1/${collection(type)}/{entity_id}/alerts`, { params: { path: { entity_id: id } } }),
    )
  ).data;

/** Return what lies below an entity, or below columns of it. */
export const readImpact = (type: string, fqn: string, columns: readonly string[] = []) =>
  dataOf(
    api.GET('/api/v1/lineage/{entity_type}/name/{fqn}/impact', {
      params: {
        path: { entity_type: type, fqn },
        query: columns.length ? { columns: columns.join(',') as never } : {},
      },
    }),
  );

export type ColumnReaders = Schemas['ColumnImpact']['data'][number];

/** Return how many assets and people read each column of an asset, by its name in the asset. */
export async function readColumnReaders(
  type: string,
  fqn: string,
): Promise<ReadonlyMap<string, ColumnReaders>> {
  const params = { path: { entity_type: type, fqn } };
  const { data } = await dataOf(
    api.GET('/api/v1/lineage/{entity_type}/name/{fqn}/impact/columns', { params }),
  );
  return new Map(data.map((each) => [each.column, each]));
}

/** Return the pending change requests of an entity. */
export async function readChangeRequests(type: string, fqn: string): Promise<readonly ChangeRequest[]> {
  const params = { query: { asset: fqn, type, limit: 20 } as never };
  const page = await dataOf(api.GET('/api/v1/changes', { params }));
  return (page as unknown as { data: ChangeRequest[] }).data;
}

/** Return the tests of a table, those of its columns too, with their last results. */
export async function readTests(type: string, fqn: string): Promise<readonly TestCase[]> {
  const query = {
    entityLink: `<#E::${type}::${fqn}>`,
    includeAllTests: 'true',
    fields: 'testCaseResult,incidentId,testDefinition',
    limit: 500,
  };
  const page = await dataOf(api.GET('/api/v1/dataQuality/testCases', { params: { query: query as never } }));
  return (page as { data: TestCase[] }).data;
}

export type Result = {
  atMs: number;
  status: string;
  text?: string | undefined;
  values?: Record<string, number>;
};

/** Return the results of a test of the last 30 days, newest first. */
export async function readResults(fqn: string): Promise<readonly Result[]> {
  const query = { startTs: serverNow() - 30 * DAY_MS, endTs: serverNow(), limit: 30 };
  const params = { path: { fqn }, query };
  const page = await dataOf(api.GET('/api/v1/dataQuality/testCases/testCaseResults/{fqn}', { params }));
  return page.data.map((each) => ({
    atMs: each.timestamp ?? 0,
    status: each.testCaseStatus ?? '',
    text: each.result ?? undefined,
    values: Object.fromEntries(
      (each.testResultValue ?? []).flatMap(({ name = '', value }) =>
        value && Number.isFinite(Number(value)) ? [[name, Number(value)]] : [],
      ),
    ),
  }));
}

/** Return the runs of a pipeline or ingestion of the last 30 days, newest first. */
export async function readRuns(type: string, fqn: string): Promise<readonly Result[]> {
  const query = { startTs: serverNow() - 30 * DAY_MS, endTs: serverNow(), limit: 30 };
  const params = { path: { fqn }, query };
  if (type === 'pipeline') {
    const page = await dataOf(api.GET('/api/v1/pipelines/{fqn}/status', { params }));
    return page.data.map((run) => ({
      atMs: run.timestamp ?? 0,
      status: run.executionStatus ?? '',
      text: (run.taskStatus ?? [])
        .filter((task) => task.executionStatus === 'Failed')
        .map((task) => `task ${task.name} failed`)
        .join(', '),
    }));
  }
  const page = await dataOf(api.GET('/api/v1/services/ingestionPipelines/{fqn}/pipelineStatus', { params }));
  return page.data.map((run) => ({
    atMs: run.timestamp ?? run.startDate ?? 0,
    status: run.pipelineState ?? '',
  }));
}

/** Return people, teams or assets by a word. */
export async function findPeople(word: string, kinds: readonly string[]): Promise<Reference[]> {
  const hits = await findEntities(word, kinds.join());
  return hits.filter((hit) => !hit.isBot).map((hit) => ({ ...hit, type: hit.entityType }));
}

/** Return tags and glossary terms by a word. */
export async function findLabels(word: string): Promise<Label[]> {
  const hits = await findEntities(word, 'tag,glossaryTerm');
  return hits.map(({ fullyQualifiedName, entityType }) => ({
    tagFQN: fullyQualifiedName,
    source: entityType === 'tag' ? 'Classification' : 'Glossary',
    labelType: 'Manual',
    state: 'Confirmed',
  })) as Label[];
}

/** Return domains by a word. */
export const findDomains = async (word: string): Promise<Reference[]> =>
  (await findEntities(word, 'domain')).map((hit) => ({ ...hit, type: 'domain' }));

type Hit = {
  id: string;
  name: string;
  displayName?: string;
  fullyQualifiedName: string;
  entityType: string;
  isBot?: boolean;
};
async function findEntities(word: string, index: string): Promise<Hit[]> {
  const bare = word.replace(/[^\p{L}\p{N}_.-]/gu, ' ').trim();
  const query = { q: bare ? `${bare}*` : '*', index, size: PAGE };
  const answer = await dataOf(api.GET('/api/v1/search/query', { params: { query } }));
  return answer.hits.hits.map((hit) => hit._source as Hit);
}
