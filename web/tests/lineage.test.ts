import { expect, test } from 'vitest';
import { aboveOf, type Lineage } from '../src/api/lineage';
import { draw, isLit, levelsOf, nextCard } from '../src/pages/lineage/layout';

const asset = (id: string) => ({ id, type: 'table', name: id, fullyQualifiedName: `s.${id}` });
const edge = (fromEntity: string, toEntity: string) => ({
  fromEntity,
  toEntity,
  lineageDetails: { columnsLineage: [{ fromColumns: [`s.${fromEntity}.c`], toColumn: `s.${toEntity}.c` }] },
});
const lineage: Lineage = {
  entity: asset('a'),
  nodes: ['b', 'c', 'd', 'up'].map(asset),
  upstreamEdges: [edge('up', 'a')],
  downstreamEdges: [edge('a', 'b'), edge('b', 'c'), edge('a', 'c'), edge('c', 'a'), edge('c', 'd')],
};
const none = { affected: [], column: '', unfolded: new Set<number>() };

test('an asset is as many steps away as its shortest way, above it or below, and circles end', () => {
  expect(Object.fromEntries(levelsOf(lineage))).toEqual({ a: 0, b: 1, c: 1, d: 2, up: -1 });
});

test('only the lines of the column are lit, from what it is made of to what reads it', () => {
  const { lines, cards } = draw(lineage, { ...none, column: 'c' });
  expect(lines.filter((line) => line.isLit)).toHaveLength(6);
  expect(cards.find(({ id }) => id === 'b')?.card.columns).toEqual(['c']);
  const unread = draw(lineage, { ...none, column: 'other' });
  expect(unread.lines.some((line) => line.isLit)).toBe(false);
  expect(unread.cards.find(({ id }) => id === 'a')?.card).toMatchObject({
    columns: ['other'],
    choices: ['c'],
  });
  expect(isLit({ fromEntity: 'a', toEntity: 'b' }, new Set(['s.a.c']))).toBe(false);
});

test('arrow keys lead along the lines to the next step, and up and down within one', () => {
  const drawn = draw(lineage, none);
  expect(nextCard(drawn, 'a', 'ArrowLeft')?.id).toBe('up');
  const [first, second] = drawn.cards
    .filter(({ card }) => card.level === 1)
    .toSorted((one, other) => one.y - other.y);
  expect(nextCard(drawn, first!.id, 'ArrowDown')?.id).toBe(second!.id);
  expect(nextCard(drawn, first!.id, 'ArrowUp')).toBeUndefined();
  expect(nextCard(drawn, 'c', 'ArrowRight')?.id).toBe('d');
  expect(nextCard(drawn, 'd', 'ArrowRight')).toBeUndefined();
  expect(nextCard(drawn, 'gone', 'ArrowLeft')).toBeUndefined();
});

test('cards of a level lie below each other, and a large level folds until it is opened', () => {
  const many = Array.from({ length: 70 }, (_, index) => `n${index}`);
  const wide = {
    ...lineage,
    nodes: many.map(asset),
    upstreamEdges: [],
    downstreamEdges: many.map((id) => edge('a', id)),
  };
  const folded = draw(wide, none);
  expect(folded.cards.map(({ card }) => card.folded).filter(Boolean)).toEqual([64]);
  const failing = draw(wide, { ...none, isFailing: ({ id }) => Number(id.slice(1)) > 60 });
  expect(failing.cards.find(({ card }) => card.folded)?.card.reference.name).toBe('64 tables, 3 failing');
  expect(folded.headings.map(({ detail }) => detail)).toEqual(['', '70']);
  const whole = draw(wide, { ...none, unfolded: new Set([1]) });
  const below = whole.cards.filter(({ card }) => card.level === 1).map(({ y, height }) => [y, y + height]);
  below.sort((one, other) => one[0]! - other[0]!);
  expect(below).toHaveLength(70);
  expect(below.every(([y], index) => !index || y! >= below[index - 1]![1]!)).toBe(true);
});

test('what lies above an asset is counted in steps, each once, whatever the ways to it', () => {
  const edge = (fromEntity: string, toEntity: string) => ({ fromEntity, toEntity });
  const node = (id: string) => ({ id, type: 'table', name: id });
  const above = aboveOf({
    entity: node('mart'),
    nodes: ['mart', 'raw', 'staging', 'side'].map(node),
    upstreamEdges: [
      edge('staging', 'mart'),
      edge('raw', 'staging'),
      edge('raw', 'mart'),
      edge('mart', 'raw'),
      edge('side', 'raw'),
    ],
    downstreamEdges: [],
  });
  expect(above.map(({ id, level }) => [id, level])).toEqual([
    ['raw', 1],
    ['staging', 1],
    ['side', 2],
  ]);
});
