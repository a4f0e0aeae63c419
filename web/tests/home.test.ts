// What Home says in a sentence.
import { expect, test } from 'vitest';
import { sentenceOf } from '../src/pages/home/sentence';

test('the sentence of Home counts failures that nobody told of, too', () => {
  const failing = { failure: {} };
  const over = { failure: { until: 1 } };
  const breaking = { breaking: true };
  expect(sentenceOf({ entries: [], count: 0 }, 0)).toBe('Nothing needs you.');
  expect(sentenceOf({ entries: [], count: 0 }, 1)).toBe('1 failure touches what you own.');
  expect(sentenceOf({ entries: [failing, over, breaking, {}], count: 4 }, 2)).toBe(
    '3 failures and 1 breaking change touch what you own.',
  );
  expect(sentenceOf({ entries: [over, {}], count: 2 }, 0)).toBe('2 things need you.');
});
