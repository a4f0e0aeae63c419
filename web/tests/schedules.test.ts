import { expect, test } from 'vitest';
import { cronOf, ruleOf, sayCron, sayTrigger } from '../src/words/schedules';

const scheduled = (cronExpression: string) => ({ triggerType: 'Scheduled' as const, cronExpression });

test.each([
  ['0 30 18 * * ?', 'daily 18:30'],
  ['0 0 9 ? * 2', 'on Mondays 09:00'],
  ['0 0 9 ? * 1', 'on Sundays 09:00'],
  ['0 0 8 ? * 2-6', 'Monday to Friday 08:00'],
  ['0 0 8 ? * 2-5', 'at set times'],
])('%s is %s, and written as it was', (cron, words) => {
  expect(sayTrigger(scheduled(cron))).toBe(words);
  expect(cronOf(ruleOf(scheduled(cron)))).toBe(cron);
});

test('without a schedule it is at once', () => {
  expect(sayTrigger(undefined)).toBe('at once');
  expect(sayTrigger({ triggerType: 'Scheduled', scheduleInfo: 'Weekly' })).toBe('on Mondays 00:00');
});

test.each([
  ['0 2 * * *', 'daily 02:00'],
  ['5 14 * * 7', 'on Sundays 14:05'],
  ['15 * * * *', 'hourly, 15 minutes past'],
  ['*/5 * * * *', '*/5 * * * *'],
  ['@daily', '@daily'],
])('the crontab line %s runs %s', (cron, words) => {
  expect(sayCron(cron)).toBe(words);
});
