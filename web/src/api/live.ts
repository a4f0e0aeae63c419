// Live notifications, one stream for all tabs of this browser: the tab that holds the lock reads it, and tells the others.
import { inTurn } from './turns';

export type LiveMessage =
  | { kind: 'notification'; data: unknown }
  | { kind: 'states' }
  | { kind: 'reset' }
  | { kind: 'state'; isLive: boolean };

/** What ends with the session: asked whenever the stream breaks. */
type Check = () => void;
type Listener = (message: LiveMessage) => void;

const SHORTEST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Listen to the notifications of a person; returns how to stop. */
export function listen(userId: string, onMessage: Listener, onBroken: Check): () => void {
  const channel = new BroadcastChannel(`tocsin.live.${userId}`);
  const stopped = new AbortController();
  channel.onmessage = (event) => onMessage(event.data);
  const tell: Listener = (message) => {
    onMessage(message);
    channel.postMessage(message);
  };
  const run = () => read(userId, tell, { stopped: stopped.signal, onBroken });
  inTurn(`tocsin.live.${userId}`, run, stopped.signal).catch(() => undefined); // stopped while it waited
  return () => {
    stopped.abort();
    channel.close();
  };
}

/** Read the stream until it is stopped; the browser sends the last id when it connects again. */
type Reading = { stopped: AbortSignal; onBroken: Check };
function read(userId: string, tell: Listener, { stopped, onBroken }: Reading): Promise<void> {
  return new Promise((done) => {
    let waitMs = SHORTEST_WAIT_MS;
    let source: EventSource;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const open = () => {
      source = new EventSource(`/api/v1/users/${userId}/notifications/stream`);
      source.onopen = () => {
        waitMs = SHORTEST_WAIT_MS;
        tell({ kind: 'state', isLive: true });
      };
      source.addEventListener('notification', (event) =>
        tell({ kind: 'notification', data: JSON.parse(event.data) }),
      );
      source.addEventListener('states', () => tell({ kind: 'states' }));
      source.addEventListener('reset', () => tell({ kind: 'reset' }));
      source.onerror = () => {
        tell({ kind: 'state', isLive: false });
        onBroken();
        if (source.readyState !== EventSource.CLOSED) return; // it connects again by itself
        timer = setTimeout(open, waitMs);
        waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
      };
    };
    stopped.addEventListener('abort', () => {
      clearTimeout(timer);
      source.close();
      done();
    });
    open();
  });
}
