// Trees of governance: terms of glossaries, tags of classifications, domains, teams; a level is read when it opens,
// page by page.
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
  /** How many teams lie in a team. */
  teamCount?: number | undefined;
};
/** A page of a level of a tree, and how many the level has. */
export type Level = { nodes: Node[]; after?: string | undefined; total?: number | undefined };
type Row = Omit<Node, 'type'> & {
  termCount?: number;
  usageCount?: number;
  userCount?: number;
  childrenCount?: number;
  disabled?: boolean;
};

/** How many rows are read at once of a flat level, and of one whose names tell what lies in what. */
const PAGE = 100;
const TREE_PAGE = 1000;
export const MOST_FOUND = 50;
const ORGANIZATION = 'Organization';

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
  teamCount: row.childrenCount,
});

/** Return a page of the roots of a kind, by name; with what lies below them where their names tell it. */
export async function rootsOf(
  kind: { type: string; collection: string; fields: string },
  after = '',
): Promise<Level> {
  if (kind.type === 'team') return teamsIn(ORGANIZATION, after);
  const limit = ['domain', 'role', 'policy'].includes(kind.type) ? TREE_PAGE : PAGE; // found by name in what is read
  return levelOf(kind.type, kind.collection, { fields: kind.fields, limit, after });
}

/** Return a page of what lies in a team, glossary or classification. */
export async function entriesOf(root: Node, after = ''): Promise<Level> {
  if (root.type === 'team') return teamsIn(root.fullyQualifiedName, after);
  const inner = within[root.type];
  if (!inner) return { nodes: [] };
  const key = root.type === 'glossary' ? root.id : root.fullyQualifiedName;
  const query = { [inner.filter]: key, fields: inner.fields, limit: TREE_PAGE, after };
  return levelOf(inner.type, inner.collection, query);
}
const teamsIn = (parentTeam: string, after: string): Promise<Level> =>
  levelOf('team', 'teams', { parentTeam, fields: 'userCount,childrenCount', limit: PAGE, after });
async function levelOf(
  type: string,
  collection: string,
  query: Record<string, string | number>,
): Promise<Level> {
  const { data, paging } = await read<Page<Row>>(collection, query);
  return { nodes: data.map((row) => nodeOf(row, type)), ...paging };
}

/** Return the nodes of pages: teams one after the other, all else as the tree that the names tell. */
export function nodesOf(pages: readonly Level[]): Node[] {
  const nodes = pages.flatMap((page) => page.nodes);
  return nodes[0]?.type === 'team' ? nodes : treeOf(nodes);
}

/** Return the full names of all teams above a team, which may lie in several. */
export async function teamsAbove(fqn: string): Promise<ReadonlySet<string>> {
  const above = new Set<string>();
  const waiting = [fqn];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const team = await read<{ parents?: Reference[] }>(`teams/name/${encodeURIComponent(name)}`, {
      fields: 'parents',
    });
    for (const { fullyQualifiedName: parent = '' } of team.parents ?? [])
      if (parent && parent !== ORGANIZATION && !above.has(parent)) {
        above.add(parent);
        waiting.push(parent);
      }
  }
  return above;
}

type Hit = { _source: Row & { entityType: string } };
/** Return what is called so, of a kind and what it holds. */
export async function findNodes(types: readonly string[], words: string): Promise<Node[]> {
  const bare = words.replace(/[^\p{L}\p{N}_.-]/gu, ' ').trim();
  const query = { q: bare ? `${bare}*` : '*', index: types.join(), size: MOST_FOUND };
  const answer = await read<{ hits: { hits: Hit[] } }>('search/query', query);
  return answer.hits.hits.map(({ _source: row }) => ({ ...nodeOf(row, row.entityType), count: undefined }));
}

/** Return whether a node, or one below it, has this full name. */
export const holds = (node: Node, fqn: string): boolean =>
  node.fullyQualifiedName === fqn || (node.children ?? []).some((child) => holds(child, fqn));

/** Return how many nodes trees have. */
export const sizeOf = (nodes: readonly Node[]): number =>
  nodes.reduce((sum, { children }) => sum + 1 + sizeOf(children ?? []), 0);
