import { QueryClient, QueryObserver } from '@tanstack/svelte-query';
import { expect, test } from 'vitest';
import { readAgain } from '../src/api/queries';

test('what comes while something is read for the first time is read once that is over', async () => {
  const client = new QueryClient();
  const answers: ((text: string) => void)[] = [];
  const queryFn = () => new Promise<string>((done) => answers.push(done));
  const observer = new QueryObserver(client, { queryKey: ['inbox', 'since'], queryFn });
  const stop = observer.subscribe(() => undefined);
  const again = readAgain(client, ['inbox']);
  answers[0]!('before it came');
  await expect.poll(() => answers.length).toBe(2);
  answers[1]!('with it');
  await again;
  expect(observer.getCurrentResult().data).toBe('with it');
  stop();
});
