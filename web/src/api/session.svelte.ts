// The session of this browser, shared by its tabs: who is logged in, and the CSRF token of what changes something.
import { browserNow, learnTime } from '../words/now';

export type Session = { id: string; userId: string; csrfToken: string };

/** `ended`: the server knows the session no more, while its pages stand open; who logs in again goes on there. */
type State = 'unknown' | 'none' | 'open' | 'ended';

const channel = new BroadcastChannel('tocsin.session');

class BrowserSession {
  state = $state<State>('unknown');
  userId = $state('');
  csrfToken = '';

  constructor() {
    channel.onmessage = (message) => {
      if (message.data === 'loggedOut') this.#close();
      else void this.load();
    };
  }

  /** Ask the server whether this browser has a session. */
  async load(): Promise<void> {
    const sentMs = browserNow();
    const answer = await fetch('/api/v1/auth/session').catch(() => null);
    if (answer) learnTime(answer.headers, sentMs); // before any page is drawn
    if (answer?.ok) this.#open(await answer.json());
    else if (answer?.status === 401) this.end();
  }

  /** Log in; resolves to why not, or null. */
  async begin(body: { email: string; password: string } | { code: string }): Promise<string | null> {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch('/api/v1/auth/session', {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    }).catch(() => null);
    if (!answer) return 'Tocsin cannot be reached. Try again in a moment.';
    const document = await answer.json().catch(() => null);
    if (!answer.ok) return document?.message ?? `The server answered ${answer.status}.`;
    this.#open(document);
    channel.postMessage('begun');
    return null;
  }

  /** Log out, in every tab. */
  async logOut(): Promise<void> {
    await fetch('/api/v1/auth/session', {
      method: 'DELETE',
      headers: { 'X-CSRF-Token': this.csrfToken },
    }).catch(() => null);
    this.#close();
    channel.postMessage('loggedOut');
  }

  /** Note that the server knows this session no more. */
  end(): void {
    if (this.state === 'open') {
      this.state = 'ended';
      channel.postMessage('ended');
    } else if (this.state === 'unknown') this.#close();
  }

  #open(session: Session): void {
    this.userId = session.userId;
    this.csrfToken = session.csrfToken;
    this.state = 'open';
  }

  #close(): void {
    this.userId = this.csrfToken = '';
    this.state = 'none';
  }
}

export const session = new BrowserSession();
