// The graph as it is drawn: columns by steps, ordered by dagre so that few edges cross, large levels folded.
import { graphlib, layout } from '@dagrejs/dagre';
import type { Affected, Edge, Lineage, Reference } from '../../api/lineage';
import { nameOf } from '../../words/names';
import { pluralOf } from '../../words/types';
import { knownColumns, litColumns } from './columns';

export type Card = {
  reference: Reference;
  level: number;
  affected: Affected | undefined;
  columns: readonly string[];
  /** Other columns of the asset in the middle, of which each can be looked at. */
  choices: readonly string[];
  folded: number;
};
export type Placed = { id: string; x: number; y: number; height: number; card: Card };
export type Line = { id: string; from: string; to: string; isLit: boolean };
export type Heading = { level: number; x: number; text: string; detail: string };
export type Drawn = {
  width: number;
  headings: readonly Heading[];
  cards: readonly Placed[];
  lines: readonly Line[];
  height: number;
};

export const CARD_WIDTH = 168;
const COLUMN_STEP = CARD_WIDTH + 34;
const GAP = 14;
const MOST_UNFOLDED = 60;
const SHOWN_OF_LEVEL = 6;
const MOST_CHOICES = 4;

/** Return how many steps each asset is away: below it positive, above it negative. */
export function levelsOf({ entity, upstreamEdges, downstreamEdges }: Lineage): Map<string, number> {
  const levels = new Map([[entity.id, 0]]);
  const walk = (edges: readonly Edge[], from: 'fromEntity' | 'toEntity', sign: 1 | -1) => {
    const to = from === 'fromEntity' ? 'toEntity' : 'fromEntity';
    let here = [entity.id];
    for (let level = sign; here.length; level += sign) {
      const next = edges.filter((edge) => here.includes(edge[from])).map((edge) => edge[to]);
      here = [...new Set(next)].filter((id) => !levels.has(id));
      here.forEach((id) => levels.set(id, level));
    }
  };
  walk(downstreamEdges, 'fromEntity', 1);
  walk(upstreamEdges, 'toEntity', -1);
  return levels;
}

/** Return whether an edge carries one of the columns that are affected. */
export function isLit(edge: Edge, affected: ReadonlySet<string>): boolean {
  return (edge.lineageDetails?.columnsLineage ?? []).some(
    ({ fromColumns = [], toColumn = '' }) =>
      affected.has(toColumn) && fromColumns.some((column) => affected.has(column)),
  );
}

type Wishes = {
  affected: readonly Affected[];
  column: string;
  unfolded: ReadonlySet<number>;
  isFailing?: (asset: Reference) => boolean;
  /** Columns begin at the top, where a window shows but a part of them. */
  isTop?: boolean;
};

/** Return where each card of a graph lies, and the lines between them. */
export function draw(lineage: Lineage, wishes: Wishes): Drawn {
  const { affected, column, unfolded, isFailing = () => false } = wishes;
  const levels = levelsOf(lineage);
  const byId = new Map(affected.map((asset) => [asset.id, asset]));
  const edges = [...lineage.upstreamEdges, ...lineage.downstreamEdges];
  const start = lineage.entity;
  const lit = litColumns(lineage, column);
  const columnsOf = (asset: Reference) =>
    [...lit].filter((name) => name.startsWith(`${asset.fullyQualifiedName}.`)).map(nameOf);
  const choices = knownColumns(lineage, start.fullyQualifiedName ?? '')
    .map(nameOf)
    .filter((name) => name !== column);
  const references = [start, ...lineage.nodes].filter(({ id }) => levels.has(id));
  const cards = references.map((reference): Card => {
    const columns = columnsOf(reference);
    return {
      reference,
      level: levels.get(reference.id)!,
      affected: byId.get(reference.id),
      columns,
      choices: reference.id === start.id ? choices.slice(0, MOST_CHOICES) : [],
      folded: 0,
    };
  });
  const { shown, standIn } = fold(cards, unfolded, isFailing);
  const lines = linesOf(edges, standIn, lit);
  const ordered = orderOf(shown, lines);
  return { ...place(shown, ordered, wishes.isTop ?? false), lines };
}

const heightOf = (card: Card) => (card.folded ? 52 : 76 + (card.columns.length + card.choices.length) * 24);

function fold(
  cards: readonly Card[],
  unfolded: ReadonlySet<number>,
  isFailing: (asset: Reference) => boolean,
) {
  const standIn = new Map(cards.map((card) => [card.reference.id, card.reference.id]));
  if (cards.length <= MOST_UNFOLDED) return { shown: cards, standIn };
  const shown: Card[] = [];
  const weightOf = (card: Card) => card.columns.length + (isFailing(card.reference) ? 1 : 0);
  for (const level of new Set(cards.map((card) => card.level))) {
    const here = cards
      .filter((card) => card.level === level)
      .sort((one, other) => weightOf(other) - weightOf(one));
    const isWhole = unfolded.has(level) || here.length <= SHOWN_OF_LEVEL + 2;
    shown.push(...(isWhole ? here : here.slice(0, SHOWN_OF_LEVEL)));
    const rest = isWhole ? [] : here.slice(SHOWN_OF_LEVEL);
    if (!rest.length) continue;
    const id = `fold:${level}`;
    rest.forEach((card) => standIn.set(card.reference.id, id));
    const failing = rest.filter((card) => isFailing(card.reference)).length;
    const reference = { id, type: '', name: nameOfFold(rest, failing) };
    shown.push({ reference, level, affected: undefined, columns: [], choices: [], folded: rest.length });
  }
  return { shown, standIn };
}

function nameOfFold(cards: readonly Card[], failing: number): string {
  const types = new Set(cards.map(({ reference }) => reference.type));
  const noun = types.size === 1 ? pluralOf([...types][0]!) : 'assets';
  return `${cards.length} ${noun}${failing ? `, ${failing} failing` : ''}`;
}

function linesOf(
  edges: readonly Edge[],
  standIn: ReadonlyMap<string, string>,
  lit: ReadonlySet<string>,
): Line[] {
  const lines = new Map<string, Line>();
  for (const edge of edges) {
    const from = standIn.get(edge.fromEntity);
    const to = standIn.get(edge.toEntity);
    if (!from || !to || from === to) continue;
    const id = `${from}>${to}`;
    lines.set(id, { id, from, to, isLit: isLit(edge, lit) || (lines.get(id)?.isLit ?? false) });
  }
  return [...lines.values()];
}

function orderOf(cards: readonly Card[], lines: readonly Line[]): ReadonlyMap<string, number> {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'LR' });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const card of cards) graph.setNode(card.reference.id, { width: CARD_WIDTH, height: heightOf(card) });
  for (const { from, to } of lines) graph.setEdge(from, to);
  layout(graph);
  return new Map(cards.map(({ reference }) => [reference.id, graph.node(reference.id).y ?? 0]));
}

function place(cards: readonly Card[], order: ReadonlyMap<string, number>, isTop: boolean) {
  const levels = [...new Set(cards.map((card) => card.level))].sort((one, other) => one - other);
  const columns = levels.map((level) =>
    cards
      .filter((card) => card.level === level)
      .sort((one, other) => order.get(one.reference.id)! - order.get(other.reference.id)!),
  );
  const tall = columns.map((column) => column.reduce((sum, card) => sum + heightOf(card) + GAP, -GAP));
  const height = Math.max(...tall, 0);
  const placed = columns.flatMap((column, index) => {
    let y = isTop ? 0 : (height - tall[index]!) / 2;
    return column.map((card): Placed => {
      const at = { id: card.reference.id, x: index * COLUMN_STEP, y, height: heightOf(card), card };
      y += heightOf(card) + GAP;
      return at;
    });
  });
  const headings = columns.map((column, index): Heading => {
    const count = column.reduce((sum, card) => sum + (card.folded || 1), 0);
    const level = levels[index]!;
    const reading = column.filter((card) => card.affected?.basis === 'column').length;
    return { level, x: index * COLUMN_STEP, ...headingOf(level, count, reading) };
  });
  return { headings, cards: placed, height, width: columns.length * COLUMN_STEP - COLUMN_STEP + CARD_WIDTH };
}

function headingOf(level: number, count: number, reading: number): { text: string; detail: string } {
  if (!level) return { text: 'here', detail: '' };
  const steps = Math.abs(level) === 1 ? '1 step' : `${Math.abs(level)} steps`;
  const detail = reading ? `${reading} ${reading === 1 ? 'reads' : 'read'} it` : `${count}`;
  return { text: `${steps} ${level > 0 ? 'below' : 'above'}`, detail };
}

type Way = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown';
export const isWay = (key: string): key is Way => /^Arrow(Left|Right|Up|Down)$/.test(key);

/** Return the card that an arrow key leads to: along a line to the next level, or up and down within one. */
export function nextCard({ cards, lines }: Drawn, from: string, way: Way): Placed | undefined {
  const here = cards.find(({ id }) => id === from);
  if (!here) return undefined;
  const isAcross = way === 'ArrowLeft' || way === 'ArrowRight';
  const sign = way === 'ArrowRight' || way === 'ArrowDown' ? 1 : -1;
  const distanceOf = (card: Placed) => Math.abs(card.y + card.height / 2 - here.y - here.height / 2);
  const isJoined = ({ id }: Placed) =>
    lines.some((line) => (line.from === from && line.to === id) || (line.to === from && line.from === id));
  const there = cards.filter((card) =>
    isAcross ? card.x === here.x + sign * COLUMN_STEP : card.x === here.x && (card.y - here.y) * sign > 0,
  );
  const joined = isAcross ? there.filter(isJoined) : there;
  return (joined.length ? joined : there).toSorted((one, other) => distanceOf(one) - distanceOf(other))[0];
}
