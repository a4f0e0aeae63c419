import { expect, test } from 'vitest';
import { commandsFor } from '../src/app/commands';
import { keysOfPages, startKeys } from '../src/app/keys';
import { overlays } from '../src/app/overlays.svelte';
import { failureTitle, pathOfFailure } from '../src/words/incidents';
import { changeNumberOf, partsOfTitle, reasonWithoutAlert } from '../src/words/titles';

test('the palette finds commands by the beginnings of their words, in any order', () => {
  expect(commandsFor('cha').map(({ label }) => label)).toContain('Change requests');
  expect(commandsFor('out log').map(({ label }) => label)).toEqual(['Log out']);
  expect(commandsFor('nothing of this')).toEqual([]);
});

test('Ctrl+Enter in a text presses the button that saves its form, unless it cannot be saved', () => {
  const stop = startKeys();
  document.body.innerHTML = '<form><textarea></textarea><button type="submit">Save</button></form>';
  const [form, text, button] = ['form', 'textarea', 'button'].map((tag) => document.querySelector(tag)!);
  let saved = 0;
  form!.addEventListener('submit', (event) => {
    event.preventDefault();
    saved += 1;
  });
  const press = (keys: KeyboardEventInit) =>
    text!.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, ...keys }));
  press({});
  expect(saved).toBe(0);
  press({ ctrlKey: true });
  press({ metaKey: true });
  expect(saved).toBe(2);
  button!.setAttribute('disabled', '');
  press({ ctrlKey: true });
  expect(saved).toBe(2);
  stop();
});

test('what failed is said with its table, or as a run', () => {
  const test = {
    id: '1',
    type: 'testCase',
    name: 'unique',
    fullyQualifiedName: 'pg.shop.public.orders.id.unique',
  };
  expect([failureTitle(test), pathOfFailure(test)]).toEqual(['orders: unique fails', 'pg / shop / public']);
  const run = { id: '2', type: 'pipeline', name: 'build', fullyQualifiedName: 'airflow.build' };
  expect([failureTitle(run), pathOfFailure(run)]).toEqual(['build: the run failed', 'airflow']);
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
  expect(partsOfTitle('Revenue build: the run failed', true).subject).toBe('Revenue build');
  expect(partsOfTitle('orders: column a: INT', true)).toMatchObject({
    subject: 'orders',
    text: 'column a: INT',
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
