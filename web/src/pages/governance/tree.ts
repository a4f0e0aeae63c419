// Trees of governance: terms of glossaries, tags of classifications, domains, teams; a level is read when it opens.
import { read, type Page } from '../../api/collections';
import { stepsOf } from '../../words/names';
import type { Reference } from '../../words/references';

export type Node = {
  id: string;
  type: string;
  name: string;
  displayName?: string | undefined;
  fullyQualifiedName: string;
  description?: string | undefined;
  owners?: Reference[] | undefined;
  children?: Node[] | undefined;
  /** How many assets carry it, or people and entries are in it. */
  count?: number | undefined;
  isDisabled?: boolean | undefined;
};
type Row = Omit<Node, 'type'> & {
  termCount?: number;
  usageCount?: number;
  userCount?: number;
  disabled?: boolean;
};

const MOST = 1000;

/** Where the entries of a root lie: the terms of a glossary, the tags of a classification. */
const within: Record<string, { collection: string; type: string; filter: string; fields: string }> = {
  glossary: {
    collection: 'glossaryTerms',
    type: 'glossaryTerm',
    filter: 'glossary',
    fields: 'owners,usageCount',
  },
  classification: { collection: 'tags', type: 'tag', filter: 'parent', fields: 'usageCount' },
};

/** Return the type of what a root holds: `tag` of `classification`; undefined where it holds its own kind. */
export const typeWithin = (type: string): string | undefined => within[type]?.type;

/** Return the nodes of a list as trees, by their full names; whose parent is not in the list is a root. */
export function treeOf(nodes: readonly Node[]): Node[] {
  const copies = nodes.map((node) => ({ ...node, children: [] as Node[] }));
  const byName = new Map(copies.map((node) => [keyOf(stepsOf(node.fullyQualifiedName)), node]));
  return copies.filter((node) => {
    const parent = byName.get(keyOf(stepsOf(node.fullyQualifiedName).slice(0, -1)));
    parent?.children.push(node);
    return !parent;
  });
}
const keyOf = (steps: readonly string[]): string => JSON.stringify(steps);

const nodeOf = (row: Row, type: string): Node => ({
  id: row.id,
  type,
  name: row.name,
  displayName: row.displayName,
  fullyQualifiedName: row.fullyQualifiedName,
  description: row.description,
  owners: row.owners,
  count: row.usageCount ?? row.userCount ?? row.termCount,
  isDisabled: row.disabled,
});

/** Return the roots of a kind, by name, at most 1,000; with what lies below them where they are of one collection. */
export async function rootsOf(kind: { type: string; collection: string; fields: string }): Promise<Node[]> {
  if (kind.type === 'team') return teamsOf((await read<{ data: Row[] }>('teams/hierarchy')).data);
  const page = await read<Page<Row>>(kind.collection, { fields: kind.fields, limit: MOST });
  const nodes = page.data.map((row) => nodeOf(row, kind.type));
  return kind.type === 'domain' ? treeOf(nodes) : nodes;
}
const teamsOf = (rows: readonly Row[]): Node[] =>
  rows.map((row) => ({ ...nodeOf(row, 'team'), children: teamsOf((row.children ?? []) as Row[]) }));

/** Return what lies in a glossary or classification, as a tree. */
export async function entriesOf(root: Node): Promise<Node[]> {
  const inner = within[root.type];
  if (!inner) return [];
  const key = root.type === 'glossary' ? root.id : root.fullyQualifiedName;
  const query = { [inner.filter]: key, fields: inner.fields, limit: MOST };
  const page = await read<Page<Row>>(inner.collection, query);
  return treeOf(page.data.map((row) => nodeOf(row, inner.type)));
}

type Hit = { _source: Row & { entityType: string } };
/** Return what is called so, of a kind and what it holds. */
export async function findNodes(types: readonly string[], words: string): Promise<Node[]> {
  const bare = words.replace(/[^\p{L}\p{N}_.-]/gu, ' ').trim();
  const query = { q: bare ? `${bare}*` : '*', index: types.join(), size: 50 };
  const answer = await read<{ hits: { hits: Hit[] } }>('search/query', query);
  return answer.hits.hits.map(({ _source: row }) => ({ ...nodeOf(row, row.entityType), count: undefined }));
}

/** Return whether a node, or one below it, has this full name. */
export const holds = (node: Node, fqn: string): boolean =>
  node.fullyQualifiedName === fqn || (node.children ?? []).some((child) => holds(child, fqn));

/** Return how many nodes trees have. */
export const sizeOf = (nodes: readonly Node[]): number =>
  nodes.reduce((sum, { children }) => sum + 1 + sizeOf(children ?? []), 0);
