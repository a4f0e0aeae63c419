import { expect, test } from 'vitest';
import { noteVisit } from '../src/pages/home/visits';
import { firstReason, piecesOf, withShortNames } from '../src/words/titles';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

test('what happened since a visit is counted from the end of the one before', () => {
  localStorage.clear();
  const startMs = 1_000 * DAY_MS;
  expect(noteVisit('dana', startMs)).toBe(startMs - DAY_MS);
  expect(noteVisit('dana', startMs + 20 * MINUTE_MS)).toBe(startMs + 20 * MINUTE_MS - DAY_MS);
  const nextDayMs = startMs + DAY_MS;
  expect(noteVisit('dana', nextDayMs)).toBe(startMs + 20 * MINUTE_MS);
  expect(noteVisit('dana', nextDayMs + MINUTE_MS)).toBe(startMs + 20 * MINUTE_MS);
  expect(noteVisit('owen', nextDayMs)).toBe(nextDayMs - DAY_MS);
});

test('what something else wrote is no visit', () => {
  localStorage.setItem('tocsin.visit.dana', '{"lastMs": "soon"');
  expect(noteVisit('dana', 5 * DAY_MS)).toBe(4 * DAY_MS);
});

test('what one owns is told before what one follows', () => {
  const follows = { kind: 'follower', sentence: 'you follow it (alert ActivityFeedAlert)' };
  const owns = { kind: 'asked', sentence: 'you own stg_orders, which reads it (alert ChangeRequests)' };
  expect(firstReason([follows, owns])).toBe('you own stg_orders, which reads it');
  expect(firstReason([follows])).toBe('you follow it');
  expect(firstReason([])).toBe('');
});

test('a reason names what one owns by its last step, and leaves addresses and versions as they are', () => {
  expect(withShortNames('You own shop.sales.public."a.b" through team Shop, which reads it')).toBe(
    'You own a.b through team Shop, which reads it',
  );
  const address = 'told at dana@mail.example.com, https://www.example.com/a.b.c';
  expect(withShortNames(address)).toBe(address);
});

test('names of columns in a title are code, other words are not', () => {
  expect(piecesOf('column gift_note TEXT removed, column order changed')).toEqual([
    { text: 'column ', isCode: false },
    { text: 'gift_note', isCode: true },
    { text: ' TEXT removed, column ', isCode: false },
    { text: 'order', isCode: true },
    { text: ' changed', isCode: false },
  ]);
  expect(piecesOf('description changed')).toEqual([{ text: 'description changed', isCode: false }]);
});
