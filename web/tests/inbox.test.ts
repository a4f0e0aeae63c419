// Tests of the inbox: when what is snoozed comes back, swipes and scrolls, rows that stay, the chain of what is affected.
import { describe, expect, it, vi } from 'vitest';
import { snoozesOf } from '../src/pages/inbox/snoozes';
import { withKept, type Row } from '../src/pages/inbox/rows';
import { swiped } from '../src/pages/inbox/swipe';
import { chainOf, type Affected } from '../src/words/chains';

const at = (day: number, hour: number, minute = 0) => new Date(2026, 10, day, hour, minute).getTime();

describe('snoozes', () => {
  it('offers this afternoon in the morning, and Monday as next week', () => {
    const choices = snoozesOf(at(25, 9, 31)); // a Wednesday
    expect(choices.map(({ label }) => label)).toEqual([
      'For an hour',
      'This afternoon',
      'Tomorrow',
      'Next week',
      'Until it changes',
    ]);
    expect(choices.map(({ until }) => until)).toEqual([
      at(25, 10, 31),
      at(25, 15),
      at(26, 8),
      at(30, 8),
      'changed',
    ]);
  });
  it('never offers what has passed; the end of an incident only while there is one', () => {
    const labels = snoozesOf(at(30, 23, 40), { hasIncident: true }).map(({ label }) => label); // a Monday
    expect(labels).toEqual([
      'For an hour',
      'Tomorrow',
      'Next week',
      'Until it changes',
      'Until it is resolved',
    ]);
    for (const { until } of snoozesOf(at(30, 23, 40)))
      if (typeof until === 'number') expect(until).toBeGreaterThan(at(30, 23, 40));
    expect(snoozesOf(at(30, 9))[3]!.until).toBe(new Date(2026, 11, 7, 8).getTime());
  });
});

describe('swipes', () => {
  const touch = (type: string, x: number, y: number) =>
    Object.assign(new Event(type), { pointerType: 'touch', isPrimary: true, clientX: x, clientY: y });
  function swipesOf(...places: [number, number][]): string[] {
    const node = document.createElement('div');
    const onswipe = vi.fn();
    swiped(node, { onmove: () => undefined, onswipe });
    node.dispatchEvent(touch('pointerdown', 100, 100));
    for (const [x, y] of places) node.dispatchEvent(touch('pointermove', x, y));
    const [x, y] = places.at(-1)!;
    node.dispatchEvent(touch('pointerup', x, y));
    return onswipe.mock.calls.map(([side]) => side as string);
  }
  it('goes right or left, far enough', () => {
    expect(swipesOf([130, 102], [220, 110])).toEqual(['right']);
    expect(swipesOf([60, 100], [10, 105])).toEqual(['left']);
    expect(swipesOf([130, 102], [150, 100])).toEqual([]);
  });
  it('never fires while one scrolls, even when the finger goes sideways at last', () => {
    expect(swipesOf([104, 130], [260, 140])).toEqual([]);
    expect(swipesOf([115, 112], [260, 300])).toEqual([]);
  });
});

describe('rows that were opened', () => {
  const row = (key: string, atMs: number) => ({ key, atMs }) as Row;
  it('stay at their place when they leave the list, and are not there twice', () => {
    const kept = new Map([
      ['b', row('b', 2)],
      ['c', row('c', 1)],
    ]);
    expect(withKept([row('a', 3), row('c', 1)], kept).map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  });
});

describe('the chain of what a change affects', () => {
  const asset = (id: string, level: number, via?: string, owner?: string): Affected => ({
    id,
    type: 'table',
    level,
    ...(via ? { via: { id: via, type: 'table' } } : {}),
    owners: owner ? [{ id: owner, type: 'user' }] : [],
  });
  const isMine = ({ owners }: Affected) => owners.some(({ id }) => id === 'me');
  it('goes through what is mine, to the deepest below it', () => {
    const affected = [
      asset('a', 1),
      asset('b', 1),
      asset('a2', 2, 'a'),
      asset('a3', 3, 'a2'),
      asset('b2', 2, 'b', 'me'),
      asset('b3', 3, 'b2'),
    ];
    expect(chainOf(affected, isMine).map(({ id }) => id)).toEqual(['b', 'b2', 'b3']);
    expect(chainOf(affected, () => false).map(({ id }) => id)).toEqual(['a', 'a2', 'a3']);
  });
  it('ends in a circle', () => {
    expect(chainOf([asset('a', 1, 'b'), asset('b', 2, 'a')], isMine)).toHaveLength(2);
  });
});
