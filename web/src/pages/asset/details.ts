// What else is known of an asset, by its type: how a topic keeps its messages, the code of a procedure, custom properties.
import type { Entity } from '../../api/assets';
import { figure } from '../../words/dates';
import { sayCron } from '../../words/schedules';

export type Detail = { label: string; text: string; href?: string | undefined };
export type Code = { label: string; text: string };
export type CustomProperty = {
  name: string;
  displayName?: string | undefined;
  description?: string | undefined;
};

type Kind = 'text' | 'count' | 'bytes' | 'milliseconds' | 'schedule';
const keys: readonly [path: string, label: string, kind?: Kind][] = [
  ['email', 'Mail'],
  ['tableType', 'Kind'],
  ['teamType', 'Kind of team'],
  ['domainType', 'Kind of domain'],
  ['messageSchema.schemaType', 'Schema'],
  ['partitions', 'Partitions', 'count'],
  ['replicationFactor', 'Copies', 'count'],
  ['retentionTime', 'Kept for', 'milliseconds'],
  ['retentionSize', 'Kept at most', 'bytes'],
  ['cleanupPolicies', 'Clean-up'],
  ['algorithm', 'Algorithm'],
  ['target', 'Predicts'],
  ['server', 'Served at'],
  ['prefix', 'Path'],
  ['fileFormats', 'Files'],
  ['numberOfObjects', 'Objects', 'count'],
  ['size', 'Size', 'bytes'],
  ['requestMethod', 'Method'],
  ['endpointURL', 'Address'],
  ['chartType', 'Kind of chart'],
  ['dataModelType', 'Kind of model'],
  ['scheduleInterval', 'Runs', 'schedule'],
  ['pipelineType', 'Ingests'],
  ['airflowConfig.scheduleInterval', 'Runs', 'schedule'],
  ['metricType', 'Kind of metric'],
  ['unitOfMeasurement', 'Unit'],
  ['granularity', 'Per'],
  ['synonyms', 'Also called'],
  ['retentionPeriod', 'Retention'],
  ['sourceUrl', 'At its source'],
];
const codes: readonly [path: string, label: string][] = [
  ['storedProcedureCode.code', 'Code'],
  ['metricExpression.code', 'Expression'],
  ['sql', 'Query of the model'],
  ['query', 'Query'],
  ['schemaDefinition', 'Definition'],
  ['messageSchema.schemaText', 'Schema as it is registered'],
  ['inspectionQuery', 'Query that shows the failing rows'],
];

const valueAt = (entity: Entity, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], entity);

/** Return an address that a browser may open; undefined for anything else. */
export const addressIn = (value: unknown): string | undefined =>
  typeof value === 'string' && /^https?:\/\//i.test(value) ? value : undefined;

/** Return a value as people read it: lists with commas, no braces. */
export function wordsOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(wordsOf).join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'object') return String(value);
  const { displayName, name, value: inner } = value as Record<string, unknown>;
  if (name !== undefined && inner !== undefined) return `${wordsOf(name)} ${wordsOf(inner)}`;
  if (displayName ?? name) return wordsOf(displayName ?? name);
  return Object.entries(value)
    .map(([key, each]) => `${key} ${wordsOf(each)}`)
    .join(', ');
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];
/** Return an amount of data: `70 MB`. */
export function bytesOf(count: number): string {
  const power = count < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log(count) / Math.log(1024)));
  return `${figure(count / 1024 ** power)} ${UNITS[power]}`;
}
function asKind(value: unknown, kind: Kind): string {
  if (kind === 'schedule' && typeof value === 'string') return sayCron(value);
  if (typeof value !== 'number') return wordsOf(value);
  if (kind === 'bytes') return bytesOf(value);
  if (kind !== 'milliseconds') return figure(value);
  const hours = value / 3_600_000;
  if (value < 0) return 'for ever';
  return hours < 48 ? `${figure(hours)} h` : `${figure(hours / 24)} days`;
}

/** Return what is known of an entity beside its parts. */
export function detailsOf(entity: Entity): Detail[] {
  const own = keys.flatMap(([path, label, kind = 'text']) => {
    const value = valueAt(entity, path);
    const text = asKind(value, kind);
    return text && text !== 'Regular' ? [{ label, text, href: addressIn(value) }] : [];
  });
  const service = entity.service ? [] : [{ label: 'Kind', text: wordsOf(entity.serviceType) }];
  const parameters = [entity.mlHyperParameters, entity.parameterValues].filter(
    (each): each is unknown[] => Array.isArray(each) && each.length > 0,
  );
  const references = (entity.references as { name?: string; endpoint?: string }[] | undefined) ?? [];
  return [
    ...service.filter(({ text }) => text),
    ...own,
    ...parameters.map((each) => ({ label: 'Parameters', text: wordsOf(each) })),
    ...references.map(({ name = '', endpoint }) => ({
      label: 'See also',
      text: name || (endpoint ?? ''),
      href: addressIn(endpoint),
    })),
  ];
}

/** Return the code of an entity: of a procedure, a view, a metric. */
export const codeOf = (entity: Entity): Code[] =>
  codes.flatMap(([path, label]) => {
    const value = valueAt(entity, path);
    return typeof value === 'string' && value.trim() ? [{ label, text: value }] : [];
  });
