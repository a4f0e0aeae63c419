// <tocsin-follow>: follow one asset, which the page names by `type` and `fqn`, or no longer.
import { EmbedElement, icon, make, wordsOf } from './element';

type Follow = { name: string; follows: boolean };

export class TocsinFollow extends EmbedElement {
  static readonly observedAttributes = ['type', 'fqn', 'token-url', 'server'];
  private readonly words = make('span', {}, 'Follow');
  private readonly wrong = make('span', { class: 'wrong', part: 'error', role: 'alert' });
  private readonly button = make(
    'button',
    { type: 'button', class: 'follow', part: 'button', 'aria-pressed': 'false', 'aria-disabled': 'true' },
    icon('m12 2 3.1 6.3 6.9 1-5 4.9 1.2 6.8-6.2-3.2L5.8 21 7 14.2 2 9.3l6.9-1z'),
    this.words,
  );
  private asked = 0;
  private follow: Follow | undefined;

  constructor() {
    super();
    this.root.append(this.button, this.wrong, this.said);
    this.button.addEventListener('click', () => void this.press());
  }

  connectedCallback(): void {
    this.refresh();
  }

  attributeChangedCallback(): void {
    if (this.isConnected) this.refresh();
  }

  override refresh(): void {
    void this.load();
  }

  private async load(): Promise<void> {
    this.follow = undefined;
    await this.attempt('GET');
  }

  private async press(): Promise<void> {
    const before = this.follow;
    if (!before) return this.load();
    await this.attempt(before.follows ? 'DELETE' : 'PUT');
    if (this.follow && this.follow !== before) {
      const { name, follows } = this.follow;
      this.tell('tocsin-follow', { follows }, `You ${follows ? '' : 'no longer '}follow ${name}.`);
    }
  }

  private async attempt(method: string): Promise<void> {
    const [type, fqn, turn] = [this.getAttribute('type'), this.getAttribute('fqn'), ++this.asked];
    if (!type || !fqn) return this.show(`<${this.localName}> needs type and fqn.`);
    try {
      const path = `follows/${encodeURIComponent(type)}/${encodeURIComponent(fqn)}`;
      const follow = await this.ask<Follow>(path, method);
      if (turn === this.asked) this.follow = follow;
    } catch (error) {
      if (turn === this.asked) this.show(wordsOf(error));
      return;
    }
    if (turn === this.asked) this.show();
  }

  private show(problem = ''): void {
    const { follow } = this;
    this.wrong.textContent = problem;
    this.words.textContent = follow?.follows ? 'Following' : 'Follow';
    this.button.setAttribute('aria-pressed', String(follow?.follows ?? false));
    this.button.setAttribute('aria-disabled', String(!follow && !problem));
    if (follow) this.button.setAttribute('aria-label', `Follow ${follow.name}`);
  }
}
