import { fireEvent, render, screen } from '@testing-library/svelte';
import { createRawSnippet } from 'svelte';
import { expect, test, vi } from 'vitest';
import { ApiError } from '../src/api/client';
import ErrorBlock from '../src/components/ErrorBlock.svelte';
import Note from '../src/components/Note.svelte';
import Segment from '../src/components/Segment.svelte';

const words = (text: string) => createRawSnippet(() => ({ render: () => `<span>${text}</span>` }));

test('an error says what did not load and can be tried again', async () => {
  const onretry = vi.fn();
  render(ErrorBlock, { error: new ApiError(503, 'The server answered 503.'), what: 'The lineage', onretry });
  expect(screen.getByRole('heading').textContent).toBe('The lineage did not load.');
  await fireEvent.click(screen.getByRole('button', { name: 'Try again' }));
  expect(onretry).toHaveBeenCalledOnce();
});

test('what may not be seen is not tried again', () => {
  render(ErrorBlock, { error: new ApiError(403, 'No.'), what: 'The lineage', onretry: vi.fn() });
  expect(screen.getByRole('heading').textContent).toContain('may not be seen');
  expect(screen.queryByRole('button')).toBeNull();
});

test('a segment tells which of its options was chosen', async () => {
  const onchange = vi.fn();
  const options = [
    { value: 'mine', label: 'Mine' },
    { value: 'all', label: 'Everything' },
  ];
  render(Segment, { label: 'Whose', options, value: 'mine', onchange });
  await fireEvent.click(screen.getByRole('button', { name: 'Everything' }));
  expect(onchange).toHaveBeenCalledExactlyOnceWith('all');
});

test('a note that is an alert is read out', () => {
  render(Note, { tone: 'danger', isAlert: true, children: words('Slack does not answer.') });
  expect(screen.getByRole('alert').textContent).toContain('Slack does not answer.');
});
