// The columns that one column leads to, and those that it is made of, along the column lineage of a graph.
import type { Edge, Lineage } from '../../api/lineage';

type Ends = { from: string; to: string };

/** Return the full names of all columns that a column is made of or leads to, itself among them. */
export function litColumns(lineage: Lineage, column: string): ReadonlySet<string> {
  if (!column) return new Set();
  const start = `${lineage.entity.fullyQualifiedName}.${column}`;
  const below = walk(start, endsOf(lineage.downstreamEdges), 'from', 'to');
  const above = walk(start, endsOf(lineage.upstreamEdges), 'to', 'from');
  return new Set([...below, ...above]);
}

/** Return the columns of an asset that column lineage knows, in the order in which they are named. */
export function knownColumns(lineage: Lineage, fullName: string): readonly string[] {
  const ends = endsOf([...lineage.downstreamEdges, ...lineage.upstreamEdges]);
  const names = ends.flatMap(({ from, to }) => [from, to]);
  return [...new Set(names.filter((name) => name.startsWith(`${fullName}.`)))];
}

const endsOf = (edges: readonly Edge[]): readonly Ends[] =>
  edges.flatMap(({ lineageDetails }) =>
    (lineageDetails?.columnsLineage ?? []).flatMap(({ fromColumns = [], toColumn = '' }) =>
      fromColumns.map((from) => ({ from, to: toColumn })),
    ),
  );

function walk(start: string, ends: readonly Ends[], from: keyof Ends, to: keyof Ends): Set<string> {
  const seen = new Set([start]);
  let here = [start];
  while (here.length) {
    const at = new Set(here);
    here = ends.filter((end) => at.has(end[from]) && !seen.has(end[to])).map((end) => end[to]);
    here.forEach((name) => seen.add(name));
  }
  return seen;
}
