// <tocsin-bell>: how much is unread, and the first of it; an item opens in Tocsin.
import { pathOf } from '../words/names';
import { serverNow } from '../words/now';
import { ago, exactly } from '../words/times';
import { reasonWithoutAlert } from '../words/titles';
import { EmbedElement, icon, make, wordsOf } from './element';

type Entry = {
  title: string;
  entityFullyQualifiedName: string | null;
  reason: string;
  timestamp: number;
  read: boolean;
  url: string;
};
type Content = { unread: number; entries: Entry[]; url: string };

const EVERY_S = 30;
const FEWEST_S = 5;
const MOST_DOUBLINGS = 5;

export class TocsinBell extends EmbedElement {
  static readonly observedAttributes = ['token-url', 'server'];
  private readonly count = make('span', { class: 'count', part: 'count', 'aria-hidden': 'true' });
  private readonly button = make(
    'button',
    { type: 'button', class: 'bell', part: 'button', 'aria-label': 'Notifications' },
    icon('M6 8a6 6 0 0 1 12 0c0 7 3 9 3 9H3s3-2 3-9', 'M10.3 21a1.94 1.94 0 0 0 3.4 0'),
    this.count,
  );
  private readonly list = make('div');
  private readonly panel = make(
    'div',
    {
      class: 'panel',
      part: 'panel',
      role: 'dialog',
      'aria-label': 'Notifications',
      popover: '',
      tabindex: '-1',
    },
    make('h2', {}, 'Notifications'),
    this.list,
  );
  private timer: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;
  private asked = 0;
  private unread: number | undefined;
  private content: Content | undefined;

  constructor() {
    super();
    this.root.append(this.button, this.panel, this.said);
    this.button.popoverTargetElement = this.panel;
    this.button.setAttribute('aria-haspopup', 'dialog');
    this.panel.addEventListener('toggle', (event) =>
      this.toggled((event as ToggleEvent).newState === 'open'),
    );
    this.show();
  }

  connectedCallback(): void {
    addEventListener('focus', this.look);
    addEventListener('scroll', this.place, true);
    addEventListener('resize', this.place);
    document.addEventListener('visibilitychange', this.look);
    this.refresh();
  }

  disconnectedCallback(): void {
    removeEventListener('focus', this.look);
    removeEventListener('scroll', this.place, true);
    removeEventListener('resize', this.place);
    document.removeEventListener('visibilitychange', this.look);
    clearTimeout(this.timer);
  }

  attributeChangedCallback(): void {
    if (this.isConnected) this.refresh();
  }

  /** Ask for what is unread now, and again after a while, as long as the page is looked at. */
  override refresh(): void {
    clearTimeout(this.timer);
    if (document.visibilityState === 'hidden' || !this.isConnected) return;
    void this.read().finally(() => {
      const every = Math.max(FEWEST_S, Number(this.getAttribute('every')) || EVERY_S);
      clearTimeout(this.timer);
      this.timer = setTimeout(this.look, every * 1000 * 2 ** Math.min(this.failures, MOST_DOUBLINGS));
    });
  }
  private readonly look = (): void => this.refresh();

  private async read(): Promise<void> {
    const turn = ++this.asked;
    try {
      const content = await this.ask<Content>('inbox');
      if (turn !== this.asked) return;
      this.failures = 0;
      this.content = content;
      this.ring(content.unread);
      this.show();
    } catch (error) {
      if (turn !== this.asked) return;
      this.failures += 1;
      this.show(wordsOf(error));
    }
  }

  private ring(unread: number): void {
    const before = this.unread;
    this.unread = unread;
    this.count.textContent = unread === 0 ? '' : unread > 99 ? '99+' : String(unread);
    this.button.setAttribute('aria-label', unread ? `Notifications, ${unread} unread` : 'Notifications');
    if (before === unread) return;
    const more = before === undefined ? 0 : unread - before;
    this.button.classList.toggle('rings', more > 0);
    const words = more > 0 ? `${more} new ${more === 1 ? 'notification' : 'notifications'}` : '';
    this.tell('tocsin-unread', { unread }, words);
  }

  private show(problem?: string): void {
    const { content } = this;
    this.button.title = problem ?? '';
    if (problem)
      this.list.replaceChildren(this.note(problem, true), ...(content ? [this.entries(content)] : []));
    else if (!content) this.list.replaceChildren(this.note('Loading …'));
    else this.list.replaceChildren(this.entries(content));
    if (content) {
      this.list.append(make('a', { class: 'open', href: content.url, ...elsewhere }, 'Open the inbox'));
    }
  }

  private note(words: string, canRetry = false): HTMLElement {
    const line = make('p', { class: 'note' }, words);
    if (canRetry) {
      const retry = make('button', { type: 'button' }, 'Try again');
      retry.addEventListener('click', this.look);
      line.append(' ', retry);
    }
    return line;
  }

  private entries({ entries }: Content): HTMLElement {
    if (entries.length === 0) return this.note('You have no notifications.');
    return make('ul', {}, ...entries.map((entry) => make('li', {}, linkTo(entry))));
  }

  private toggled(isOpen: boolean): void {
    if (!isOpen) return;
    this.place();
    this.panel.focus();
    this.refresh();
    void this.ask('inbox/seen', 'PUT').catch(() => null);
  }

  private readonly place = (): void => {
    if (!this.panel.matches(':popover-open')) return;
    const at = this.button.getBoundingClientRect();
    const width = this.panel.offsetWidth;
    const left = at.left + at.width / 2 > innerWidth / 2 ? at.right - width : at.left;
    this.panel.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
    this.panel.style.top = `${at.bottom + 6}px`;
  };
}

const elsewhere = { target: '_blank', rel: 'noopener' };

function linkTo(entry: Entry): HTMLElement {
  const when = make('time', { title: exactly(entry.timestamp) }, ago(entry.timestamp, serverNow()));
  const about = [pathOf(entry.entityFullyQualifiedName), reasonWithoutAlert(entry.reason)].filter(Boolean);
  const title = make('span', { class: 'title' }, entry.title);
  if (!entry.read) title.append(make('span', { class: 'hidden' }, ', unread'));
  return make(
    'a',
    { href: entry.url, class: entry.read ? '' : 'unread', ...elsewhere },
    make('span', { class: 'dot' }),
    title,
    when,
    make('small', {}, about.join(' · ')),
  );
}
