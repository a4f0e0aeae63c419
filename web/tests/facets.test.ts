import { render, screen } from '@testing-library/svelte';
import { expect, test, vi } from 'vitest';
import Facets from '../src/components/Facets.svelte';
import Matrix from '../src/components/Matrix.svelte';

const items = Array.from({ length: 9 }, (_, index) => ({
  value: `s${index}`,
  label: `Service ${index}`,
  count: index,
}));

test('a long group of facets is cut, but never what is chosen, and each choice is told whole', () => {
  const onchange = vi.fn();
  render(Facets, {
    groups: [{ key: 'service', title: 'Service', items }],
    chosen: { service: ['s8'] },
    onchange,
  });
  expect(screen.queryByLabelText(/Service 7/)).toBeNull();
  expect((screen.getByLabelText(/Service 8/) as HTMLInputElement).checked).toBe(true);
  screen.getByLabelText(/Service 1/).click();
  expect(onchange).toHaveBeenCalledWith('service', ['s8', 's1']);
  screen.getByLabelText(/Service 8/).click();
  expect(onchange).toHaveBeenLastCalledWith('service', []);
});

test('a matrix names each of its choices by row and column, and tells what is chosen', () => {
  const onchange = vi.fn();
  const options = [
    { value: 'immediate', label: 'at once' },
    { value: 'never', label: 'off' },
  ];
  render(Matrix, {
    caption: 'What reaches me',
    subject: 'Kind',
    columns: [{ key: 'Email', label: 'E-mail', note: 'no mail server' }],
    groups: [{ title: 'Needs me', rows: [{ key: 'tags', label: 'Tags' }] }],
    cellOf: () => ({ value: 'immediate', options, tone: 'now' as const }),
    onchange,
  });
  expect(screen.getByRole('columnheader', { name: 'E-mail no mail server' })).toBeTruthy();
  const choice = screen.getByLabelText('Tags: E-mail') as HTMLSelectElement;
  choice.value = 'never';
  choice.dispatchEvent(new Event('change', { bubbles: true }));
  expect(onchange).toHaveBeenCalledWith('tags', 'Email', 'never');
});
