// Schedules as people choose them, and the cron expressions (Quartz) and names that alerts keep.
import type { components } from '../api/schema';

type Trigger = components['schemas']['Trigger'];
export type Rule = {
  rhythm: 'once' | 'daily' | 'workdays' | 'weekly' | 'custom';
  at: string;
  day: number;
  cron: string;
};

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const WORKDAYS = /^0 (\d+) (\d+) \? \* (?:2-6|MON-FRI)$/i;
const NAMED: Record<string, string> = {
  Daily: '0 0 0 * * ?',
  Weekly: '0 0 0 ? * 2',
  Monthly: '0 0 0 1 * ?',
};

/** Return the rule of a trigger; what neither days nor a week describes is `custom`. */
export function ruleOf(trigger: Trigger): Rule {
  const rule: Rule = { rhythm: 'once', at: '09:00', day: 1, cron: '0 0 9 * * ?' };
  if (trigger.triggerType !== 'Scheduled') return rule;
  const cron = trigger.cronExpression ?? NAMED[trigger.scheduleInfo ?? ''] ?? NAMED.Weekly!;
  const [, workMinute, workHour] = cron.match(WORKDAYS) ?? [];
  if (workMinute && workHour) return { ...rule, rhythm: 'workdays', at: timeOf(workHour, workMinute), cron };
  const [, minute, hour, days, weekday] = cron.match(/^0 (\d+) (\d+) ([*?]) \* ([\d?*])$/) ?? [];
  if (minute === undefined || hour === undefined) return { ...rule, rhythm: 'custom', cron };
  const at = timeOf(hour, minute);
  if (days === '*' || !/\d/.test(weekday!)) return { ...rule, rhythm: 'daily', at, cron };
  return { rhythm: 'weekly', at, day: ((Number(weekday) + 5) % 7) + 1, cron }; // Quartz: Sunday is 1; here Monday is
}

const timeOf = (hour: string, minute: string): string =>
  `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;

/** Return the expression of a rule. */
export function cronOf(rule: Rule): string {
  if (rule.rhythm === 'custom') return rule.cron;
  const [hour, minute] = rule.at.split(':').map(Number);
  if (rule.rhythm === 'workdays') return `0 ${minute} ${hour} ? * 2-6`;
  return rule.rhythm === 'daily'
    ? `0 ${minute} ${hour} * * ?`
    : `0 ${minute} ${hour} ? * ${(rule.day % 7) + 1}`;
}

/** Return a schedule in words: `at once`, `daily 18:00`, `on Mondays 09:00`. */
export function sayTrigger(trigger: Trigger | null | undefined): string {
  const rule = ruleOf(trigger ?? { triggerType: 'RealTime' });
  if (rule.rhythm === 'once') return 'at once';
  if (rule.rhythm === 'daily') return `daily ${rule.at}`;
  if (rule.rhythm === 'workdays') return `Monday to Friday ${rule.at}`;
  return rule.rhythm === 'weekly' ? `on ${WEEKDAYS[rule.day % 7]}s ${rule.at}` : 'at set times';
}

/** Return a schedule of five fields as crontabs have it in words: `daily 02:00`; others as they are. */
export function sayCron(cron: string): string {
  const [, minute, hour, day] = /^(\d{1,2}) (\d{1,2}|\*) \* \* ([0-7]|\*)$/.exec(cron.trim()) ?? [];
  if (minute === undefined || hour === undefined || (hour === '*' && day !== '*')) return cron;
  if (hour === '*') return `hourly, ${minute} minutes past`;
  const at = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  return day === '*' ? `daily ${at}` : `on ${WEEKDAYS[Number(day) % 7]}s ${at}`;
}
