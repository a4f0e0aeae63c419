// Push messages in this browser, which come while no tab of Tocsin is open: whether it takes them, and since when.
import { api, dataOf } from './client';
import type { components } from './schema';

type State = components['schemas']['PushBrowser'];
const path = '/api/v1/auth/session/pushBrowser' as const;
const script = '/service-worker.js';

export const pushState = () => dataOf(api.GET(path));

/** Return whether this browser can take push messages at all: it must, and the page must have come by https. */
export const canPush = (): boolean =>
  'serviceWorker' in navigator && 'PushManager' in globalThis && 'Notification' in globalThis;

/** Let this browser take push messages; resolves to null where its person forbids it to. */
export async function subscribe(publicKey: string): Promise<State | null> {
  if ((await Notification.requestPermission()) !== 'granted') return null;
  const registration = await navigator.serviceWorker.register(script);
  await navigator.serviceWorker.ready;
  await (await registration.pushManager.getSubscription())?.unsubscribe(); // it may be of another key, or person
  const subscription = await registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: publicKey,
  });
  const { endpoint, keys } = subscription.toJSON();
  const body = { endpoint: endpoint ?? '', p256dh: keys?.p256dh ?? '', auth: keys?.auth ?? '' };
  return dataOf(api.PUT(path, { body }));
}

export type Refusal = { reason: string; statusCode?: number | null };
/** Send a test message by the push service; return why it did not take it, or null where it did. */
export async function sendTest(): Promise<Refusal | null> {
  const { statusDetails } = await dataOf(api.POST(`${path}/test`));
  const { status, reason, statusCode } = statusDetails as {
    status: string;
    reason?: string;
    statusCode?: number | null;
  };
  return status === 'Success' ? null : { reason: reason ?? '', statusCode: statusCode ?? null };
}

/** Let this browser take no more push messages. */
export async function unsubscribe(): Promise<State> {
  const state = await dataOf(api.DELETE(path));
  const registration = await navigator.serviceWorker.getRegistration(script);
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
  return state;
}
