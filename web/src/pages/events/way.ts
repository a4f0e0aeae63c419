// The way of an event: recorded, matched, its people found, its messages stored and sent, each with the time passed.
import type { Explanation, Notified } from '../../api/events';
import type { Step } from '../../components/Steps.svelte';
import { countOf, spanOf } from '../../words/dates';
import { channelOf } from '../../words/events';

const IN_APP = 'ActivityFeed';

/** Return the steps of an explained event. */
export function stepsOf({ event, pipeline, alerts, notified, otherAlerts }: Explanation): Step[] {
  const after = (atMs: number) => `+${spanOf(Math.max(0, atMs - event.timestamp) / 1000)}`;
  const version =
    event.currentVersion === undefined ? '' : ` with version ${event.currentVersion.toFixed(1)}`;
  const steps: Step[] = [{ at: '+0 s', text: `recorded${version}`, tone: 'good' }];
  if (!pipeline.hasReached) {
    const text = pipeline.isRunning ? 'waits to be matched' : 'waits: the pipeline does not run';
    return [...steps, { text, tone: pipeline.isRunning ? 'now' : 'bad' }];
  }
  const matched = alerts.filter((alert) => alert.matched).length + (otherAlerts?.matched ?? 0);
  if (matched === 0) return [...steps, { text: 'no alert matches it', tone: 'warn' }];
  const first = notified.data[0]?.createdAt;
  const at = first === undefined ? undefined : after(first);
  steps.push({ at, text: `matched by ${countOf(matched, 'alert')}`, tone: 'good' });
  const people = new Set(notified.data.map(({ recipientId }) => recipientId).filter(Boolean)).size;
  const reasons = notified.data.reduce((sum, one) => sum + one.reasons.length, 0);
  if (people)
    steps.push({
      at,
      text: `${people === 1 ? '1 person' : `${people} people`} by ${countOf(reasons, 'reason')}, each told once`,
      tone: 'good',
    });
  if (!notified.total) return [...steps, { text: 'nobody is told', tone: 'warn' }];
  const inApp = notified.data.filter(({ channel }) => channel === IN_APP).length;
  if (inApp) steps.push({ at, text: `${countOf(inApp, 'bell')} stored`, tone: 'good' });
  return [
    ...steps,
    ...notified.data.filter(({ channel }) => channel !== IN_APP).map((one) => stepOf(one, after)),
  ];
}

function stepOf(one: Notified, after: (atMs: number) => string): Step {
  const who = one.recipientDisplayName ?? one.destinations.join(', ') ?? one.recipient;
  const to = `${channelOf(one.channel)} ${who}`;
  if (one.digest) return { text: `${to}: ${one.digest.says}`, tone: 'now' };
  const message = one.message as {
    status?: string;
    attempts?: { startedAt: number; reason?: string }[];
  } | null;
  const attempt = message?.attempts?.at(-1);
  const at = attempt ? after(attempt.startedAt) : undefined;
  if (message?.status === 'failed')
    return {
      at,
      text: `${to}: ${attempt?.reason ? attempt.reason.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase() : 'failed'}`,
      tone: 'bad',
    };
  if (message?.status === 'delivered' || message?.status === 'sent')
    return { at, text: `${to}: sent`, tone: 'good' };
  return { at, text: `${to}: ${message?.status ?? 'waits'}`, tone: 'now' };
}
