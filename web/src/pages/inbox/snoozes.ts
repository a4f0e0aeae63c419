// When a snoozed row comes back: choices of the menu, from the next hour to the end of its incident.
import type { Until } from '../../api/inbox';
import { clockOf, longDayOf } from '../../words/dates';
import { serverNow } from '../../words/now';

export type Snooze = { label: string; hint: string; until: Until; said: string };

const HOUR_MS = 3_600_000;
const MORNING = 8;
const AFTERNOON = 15;

const dayAt = (nowMs: number, days: number, hour: number): number => {
  const day = new Date(nowMs);
  day.setDate(day.getDate() + days);
  return day.setHours(hour, 0, 0, 0);
};

/** Return tomorrow at eight. */
export const tomorrowMs = (nowMs = serverNow()): number => dayAt(nowMs, 1, MORNING);

/** Return the times until which one may snooze at a moment; the end of an incident only while one is open. */
export function snoozesOf(nowMs: number, { hasIncident = false } = {}): Snooze[] {
  const today = new Date(nowMs);
  const toMonday = (8 - today.getDay()) % 7 || 7;
  const timed = (label: string, untilMs: number, isToday = false): Snooze => ({
    label,
    hint: isToday ? clockOf(untilMs) : `${longDayOf(untilMs).split(',')[0]} ${clockOf(untilMs)}`,
    until: untilMs,
    said: `Snoozed until ${isToday ? '' : `${longDayOf(untilMs)}, `}${clockOf(untilMs)}.`,
  });
  const nextHour = nowMs + HOUR_MS;
  return [
    timed('For an hour', nextHour, new Date(nextHour).toDateString() === today.toDateString()),
    ...(today.getHours() < AFTERNOON - 1 ? [timed('This afternoon', dayAt(nowMs, 0, AFTERNOON), true)] : []),
    timed('Tomorrow', tomorrowMs(nowMs)),
    timed('Next week', dayAt(nowMs, toMonday, MORNING)),
    {
      label: 'Until it changes',
      hint: 'the next notification about it',
      until: 'changed',
      said: 'Snoozed until it changes.',
    },
    ...(hasIncident
      ? [
          {
            label: 'Until it is resolved',
            hint: 'the end of the incident',
            until: 'resolved' as const,
            said: 'Snoozed until its incident is resolved.',
          },
        ]
      : []),
  ];
}
