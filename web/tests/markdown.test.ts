import { render, screen } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import Markdown from '../src/components/Markdown.svelte';
import { blocksOf, plainOf, spansOf } from '../src/words/markdown';
import { calledOf } from '../src/words/references';

test('a description is shown by its marks, and what people write stays text', () => {
  const hostile =
    '<img src=x onerror="alert(1)"> **bold** [click](javascript:alert(1)) [docs](https://x.example/a)';
  render(Markdown, { text: hostile });
  expect(document.querySelector('img')).toBeNull();
  expect(screen.getByText('bold').tagName).toBe('STRONG');
  expect(screen.getAllByRole('link').map((link) => link.getAttribute('href'))).toEqual([
    'https://x.example/a',
  ]);
  expect(document.body.textContent).toContain('[click](javascript:alert(1))');
});

test('addresses that leave the page by a trick are no links', () => {
  for (const href of ['//evil.example', '/\\evil.example', 'data:text/html,x', 'JavaScript:x', 'vbscript:x'])
    expect(spansOf(`[x](${href})`)[0]!.kind).toBe('text');
});

test('a mention leads to its person, lists are lists, code is code', () => {
  expect(spansOf('<#E::user::ann> and <#E::team::shop>[shop](http://x/y)')).toEqual([
    { kind: 'link', text: '@ann', href: '/user/ann' },
    { kind: 'text', text: ' and ' },
    { kind: 'link', text: '@shop', href: '/team/shop' },
  ]);
  expect(blocksOf('# Title\n- a\n- b\n\n1. c\n```sql\nselect *\n```').map(({ kind }) => kind)).toEqual([
    'heading',
    'list',
    'steps',
    'code',
  ]);
  expect(plainOf('**All** orders,\nsee `x`.')).toBe('All orders, see x .');
});

test('names with underscores are no emphasis', () => {
  expect(spansOf('cart_id and total_cents are 3 * 4 * 5')).toHaveLength(1);
});

test('people are called as people', () => {
  expect(calledOf({ type: 'user', name: 'priya.raman' })).toBe('Priya Raman');
  expect(calledOf({ type: 'user', name: 'ingestion-bot' })).toBe('ingestion-bot');
  expect(calledOf({ type: 'table', fullyQualifiedName: 'a.b."c.d"' })).toBe('c.d');
});
