// The state of assets: what fails, what is stale because it lies below that, and what is announced to change.
import { stepsOf } from '../words/names';
import { api, dataOf } from './client';
import type { components } from './schema';

type Reference = {
  id: string;
  type: string;
  name?: string | undefined;
  fullyQualifiedName?: string | undefined;
};
type Announced = {
  name: string;
  kind: 'removal' | 'type' | 'rename' | 'deprecation';
  entity: Reference;
  column: string | null;
  date: number;
};
type Incident = components['schemas']['AlertIncident'] & { entity: Reference };
/** `incident`: it fails; `stale`: it lies below what fails; `change`: a change is announced; `breaking`: it broke readers. */
export type Mark = {
  kind: 'incident' | 'stale' | 'change' | 'breaking';
  name: string;
  text: string;
  dateMs?: number;
};
export type Marks = ReadonlyMap<string, readonly Mark[]>;

const MOST = 500;
const MOST_ROOTS = 12;
const DEEPEST = 50;
const STEPS_OF_TABLE = 4;
const words = { removal: 'goes', type: 'changes type', rename: 'is renamed', deprecation: 'is deprecated' };

/** Return what open incidents and announced changes there are, by the id of their asset, and by its full name. */
export async function readMarks(): Promise<Marks> {
  const [incidents, changes] = await Promise.all([
    dataOf(api.GET('/api/v1/incidents', { params: { query: { status: 'unresolved', limit: MOST } } })),
    dataOf(api.GET('/api/v1/changes', { params: { query: { status: 'announced', limit: MOST } } })),
  ]);
  const marks = new Map<string, Mark[]>();
  const add = (key: string | undefined, mark: Mark) => {
    const marked = key === undefined ? [] : (marks.get(key) ?? []);
    if (key !== undefined && !marked.some(({ name }) => name === mark.name))
      marks.set(key, [...marked, mark]);
  };
  for (const { entity, name } of incidents.data as unknown as Incident[]) {
    const mark: Mark = { kind: 'incident', name, text: name };
    add(entity.id, mark);
    add(tableOf(entity), mark);
  }
  for (const { entity, name, kind, column, date } of changes.data as unknown as Announced[])
    add(entity.id, { kind: 'change', name, text: `${column ?? ''} ${words[kind]}`.trim(), dateMs: date });
  const roots = (incidents.data as unknown as Incident[]).slice(0, MOST_ROOTS);
  for (const { id, name } of (await Promise.all(roots.map(staleBelow))).flat())
    if (!marks.get(id)?.some(({ kind }) => kind === 'incident'))
      add(id, { kind: 'stale', name, text: `stale, ${name}` });
  return marks;
}

/** Return the full name of the table that a test tests; of anything else its own. */
export function tableOf({ type, fullyQualifiedName = '' }: Omit<Reference, 'id'>): string {
  if (type !== 'testCase') return fullyQualifiedName;
  const steps = stepsOf(fullyQualifiedName).slice(0, STEPS_OF_TABLE);
  return steps.map((step) => (/[."]/.test(step) ? `"${step.replaceAll('"', '""')}"` : step)).join('.');
}

/** Return the marks of an asset. */
export const marksOf = (
  marks: Marks | undefined,
  asset: { id: string; fullyQualifiedName?: string },
): readonly Mark[] => {
  const all = [...(marks?.get(asset.id) ?? []), ...(marks?.get(asset.fullyQualifiedName ?? '') ?? [])];
  return [...new Map(all.map((mark) => [mark.name, mark])).values()];
};

async function staleBelow({ entity, name }: Incident): Promise<{ id: string; name: string }[]> {
  const type = entity.type === 'testCase' ? 'table' : entity.type;
  const path = { entity_type: type, fqn: tableOf(entity) };
  const query = { depth: DEEPEST };
  const answer = await dataOf(
    api.GET('/api/v1/lineage/{entity_type}/name/{fqn}/impact', { params: { path, query } }),
  ).catch(() => null); // of a type without lineage, or gone in the meantime: nothing is known to be stale
  const below = Object.values(answer?.affected ?? {}).flat() as unknown as Reference[];
  return below.map(({ id }) => ({ id, name }));
}
