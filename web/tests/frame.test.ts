import { expect, test } from 'vitest';
import { commandsFor } from '../src/app/commands';
import { keysOfPages, startKeys } from '../src/app/keys';
import { overlays } from '../src/app/overlays.svelte';
import { changeNumberOf, partsOfTitle, reasonWithoutAlert } from '../src/words/titles';

test('the palette finds commands by the beginnings of their words, in any order', () => {
  expect(commandsFor('cha').map(({ label }) => label)).toContain('Change requests');
  expect(commandsFor('out log').map(({ label }) => label)).toEqual(['Log out']);
  expect(commandsFor('nothing of this')).toEqual([]);
});

test('no two places have the same key', () => {
  const keys = keysOfPages.find(({ title }) => title === 'Go to')!.keys.map(([key]) => key);
  expect(new Set(keys).size).toBe(keys.length);
});

test('a title is parted into what it is about and what it says', () => {
  expect(partsOfTitle('orders: breaking: column a')).toEqual({
    subject: 'orders',
    mark: 'breaking',
    text: 'column a',
  });
  expect(partsOfTitle('orders: breaking, not announced: column a: b').mark).toBe('breaking, not announced');
  expect(partsOfTitle('Rosa Delgado asks you: why?')).toEqual({
    subject: '',
    mark: '',
    text: 'Rosa Delgado asks you: why?',
  });
  expect(reasonWithoutAlert('you follow it (alert ActivityFeedAlert)')).toBe('you follow it');
  expect(changeNumberOf('orders: CR-12 announced: column a goes')).toBe('CR-12');
});

test('what is typed before the palette is there is in it, and no longer when it opens again', () => {
  const stop = startKeys();
  const press = (key: string, more: KeyboardEventInit = {}) =>
    dispatchEvent(new KeyboardEvent('keydown', { key, cancelable: true, ...more }));
  press('k', { ctrlKey: true });
  for (const key of ['o', 'r', '?', 'Shift']) press(key);
  expect([overlays.open, overlays.text]).toEqual(['palette', 'or?']);
  overlays.close();
  press('/');
  expect([overlays.open, overlays.text]).toEqual(['palette', '']);
  overlays.close();
  stop();
});
