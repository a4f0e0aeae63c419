// What an asset is made of: columns, fields, tasks, features or children, and how its tabs are called.
import type { Entity, Label, Member, Version } from '../../api/assets';
import { quoted } from '../../words/names';
import type { Reference } from '../../words/references';

type Inner = Record<string, unknown> | undefined;
const inner = (entity: Entity, key: string, below: string): Member[] | undefined =>
  (entity[key] as Inner)?.[below] as Member[] | undefined;

export type Members = { label: string; noun: string; path: string; list: readonly Member[] };

/** Return the lists of parts of an entity, and where they are in its document. */
export function partsOf(type: string, entity: Entity): Members[] {
  const parts = (label: string, noun: string, path: string, list: Member[] | undefined): Members[] =>
    list?.length ? [{ label, noun, path, list }] : [];
  const fields = (key: string, label: string) =>
    parts(label, 'field', `/${key}/schemaFields`, inner(entity, key, 'schemaFields'));
  switch (type) {
    case 'table':
    case 'dashboardDataModel':
      return parts('Columns', 'column', '/columns', entity.columns as Member[] | undefined);
    case 'container':
      return parts('Columns', 'column', '/dataModel/columns', inner(entity, 'dataModel', 'columns'));
    case 'topic':
      return fields('messageSchema', 'Fields');
    case 'apiEndpoint':
      return [...fields('requestSchema', 'Fields asked for'), ...fields('responseSchema', 'Fields answered')];
    case 'searchIndex':
      return parts('Fields', 'field', '/fields', entity.fields as Member[] | undefined);
    case 'pipeline':
      return parts('Tasks', 'task', '/tasks', entity.tasks as Member[] | undefined);
    case 'mlmodel':
      return parts('Features', 'feature', '/mlFeatures', entity.mlFeatures as Member[] | undefined);
    default:
      return [];
  }
}

/** Return how many parts an entity has, and how they are called together; null for one without. */
export function countedParts(type: string, entity: Entity): { label: string; count: number } | null {
  const lists = partsOf(type, entity);
  if (!lists[0]) return null;
  const label = `${lists[0].noun[0]!.toUpperCase()}${lists[0].noun.slice(1)}s`;
  return { label, count: lists.reduce((sum, { list }) => sum + list.length, 0) };
}

/** Return what lies in an entity, by what people call it: the tables of a schema, the charts of a dashboard. */
export function listsOf(type: string, entity: Entity): { label: string; list: readonly Reference[] }[] {
  const keys: [string, string][] = [
    ['databaseSchemas', 'Schemas'],
    ['tables', 'Tables'],
    ['charts', 'Charts'],
    ['dashboards', 'Dashboards'],
    ['dataModels', 'Data models'],
    ['apiEndpoints', 'Endpoints'],
    ['children', type === 'team' ? 'Teams' : 'Within it'],
    ['pipelines', type.endsWith('Service') ? 'Ingestion pipelines' : 'Pipelines'],
    ['tests', 'Tests'],
    ['users', 'People'],
    ['teams', 'Teams'],
    ['roles', 'Roles'],
    ['policies', 'Policies'],
    ['owns', 'Owns'],
    ['follows', 'Follows'],
    ['relatedTerms', 'Related terms'],
    ['reviewers', 'Reviewers'],
    ['experts', 'Experts'],
  ];
  return keys.flatMap(([key, label]) => {
    const list = entity[key];
    const isList = Array.isArray(list) && list.length && typeof (list[0] as Reference).id === 'string';
    return isList ? [{ label, list: list as Reference[] }] : [];
  });
}

/** Return the type of a column or field as people read it: `VARCHAR(320)`. */
export function typeOf(member: Member): string {
  if (member.taskType || member.featureAlgorithm) return member.taskType ?? member.featureAlgorithm ?? '';
  const { dataType = '', dataTypeDisplay, dataLength, precision, scale } = member;
  if (dataTypeDisplay && !/^(int|varchar|string)$/i.test(dataTypeDisplay))
    return dataTypeDisplay.toUpperCase();
  if (precision !== undefined) return `${dataType}(${precision}${scale === undefined ? '' : `,${scale}`})`;
  const hasLength = /CHAR|BINARY|STRING/.test(dataType) && dataLength && dataLength > 1;
  return hasLength ? `${dataType}(${dataLength})` : dataType;
}

export type Traced = {
  kind: 'added' | 'removed' | 'type' | 'changed';
  version: number;
  before?: Member | string;
  isBreaking?: boolean;
};

/** Return the last change of each column within a time, by its path in the asset. */
export function tracesOf(versions: readonly Version[], sinceMs: number): ReadonlyMap<string, Traced> {
  const traces = new Map<string, Traced>();
  const note = (name: string, traced: Traced) => traces.has(name) || traces.set(name, traced);
  for (const { version, atMs, document, breaking } of versions) {
    const change = document.changeDescription;
    if (atMs < sinceMs || !change) continue;
    for (const { name, oldValue } of change.fieldsDeleted ?? [])
      for (const member of membersIn(name, oldValue))
        note(quoted(member.name), { kind: 'removed', version, before: member });
    for (const { name, newValue } of change.fieldsAdded ?? [])
      for (const member of membersIn(name, newValue)) note(quoted(member.name), { kind: 'added', version });
    for (const { name, oldValue } of change.fieldsUpdated ?? []) {
      const [, column, field] = (name ?? '').match(/^columns\.(.+)\.(\w+)$/) ?? [];
      if (!column || !field) continue;
      const isType = field === 'dataType' && typeof oldValue === 'string';
      const isBreaking = breaking.some(({ field: each }) => each === name || name!.startsWith(`${each}.`));
      note(column, {
        ...(isType ? { kind: 'type', before: oldValue } : { kind: 'changed' }),
        version,
        isBreaking,
      });
    }
  }
  return traces;
}
function membersIn(name: string | undefined, value: unknown): Member[] {
  if (name !== 'columns') return [];
  const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : value;
  return Array.isArray(parsed) ? (parsed as Member[]) : [];
}

/** Return the tier of an entity, and its other tags. */
export function tierOf(tags: readonly Label[] = []): { tier: Label | undefined; others: readonly Label[] } {
  const isTier = ({ tagFQN }: Label) => tagFQN.startsWith('Tier.');
  return { tier: tags.find(isTier), others: tags.filter((tag) => !isTier(tag)) };
}

/** Return a path of the page of an asset, with a tab. */
export const tabAddress = (type: string, fqn: string, tab = ''): string =>
  `/${type}/${encodeURIComponent(fqn)}${tab && `/${tab}`}`;

const UNFOLLOWABLE = [
  'type',
  'role',
  'policy',
  'bot',
  'testDefinition',
  'eventsubscription',
  'notificationTemplate',
];

/** Return whether people can follow entities of a type. */
export const isFollowable = (type: string): boolean => !UNFOLLOWABLE.includes(type);

const LINEAGE =
  /^(table|topic|dashboard|chart|pipeline|mlmodel|container|searchIndex|apiEndpoint|dashboardDataModel|storedProcedure|metric|report)$/;
/** Return whether assets of a type have lineage. */
export const hasLineage = (type: string): boolean => LINEAGE.test(type);
/** Return whether an asset has tests, or is one, or has runs. */
export const hasTests = (type: string): boolean =>
  /^(table|testCase|testSuite|pipeline|ingestionPipeline)$/.test(type);
/** Return whether an asset may have a profile or sample data. */
export const hasProfile = (type: string): boolean => /^(table|container|topic|searchIndex)$/.test(type);
