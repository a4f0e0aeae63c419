// What both elements share: a shadow root with its style, where Tocsin is, whose token is used, and small helpers.
import { ask, type TokenSource } from './access';
import { style } from './style';

/** Where the script came from, and so where Tocsin is. */
const script = document.currentScript;
const home = script instanceof HTMLScriptElement && script.src ? new URL(script.src).origin : '';

export abstract class EmbedElement extends HTMLElement {
  private source: (() => Promise<string>) | undefined;
  protected readonly root = this.attachShadow({ mode: 'open' });
  protected readonly said = make('span', { class: 'hidden', role: 'status' });

  constructor() {
    super();
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    this.root.adoptedStyleSheets = [sheet];
    const early = Object.getOwnPropertyDescriptor(this, 'getToken'); // set before this script was there
    if (early) delete (this as { getToken?: unknown }).getToken;
    this.source = early?.value;
  }

  /** A function of the page that resolves to a token, in place of the attribute `token-url`. */
  get getToken(): (() => Promise<string>) | undefined {
    return this.source;
  }
  set getToken(source: (() => Promise<string>) | undefined) {
    this.source = source;
    if (this.isConnected) this.refresh();
  }

  /** Show what is so now. */
  abstract refresh(): void;

  protected ask<T>(path: string, method?: string): Promise<T> {
    const source: TokenSource | null = this.source ?? this.getAttribute('token-url');
    const server = this.getAttribute('server') ?? home;
    if (!source || !server) {
      return Promise.reject(new Error(`<${this.localName}> needs ${server ? 'token-url' : 'server'}.`));
    }
    return ask<T>(server.replace(/\/$/, ''), source, path, method);
  }

  /** Tell the page what happened, and who listens to it. */
  protected tell(name: string, detail: object, words?: string): void {
    if (words) this.said.textContent = words;
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

type Child = Node | string;

/** Return an element with attributes and children; texts are texts, never markup. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Return an icon of 24 by 24, drawn by lines. */
export function icon(...lines: string[]): SVGElement {
  const space = 'http://www.w3.org/2000/svg';
  const drawing = document.createElementNS(space, 'svg');
  drawing.setAttribute('viewBox', '0 0 24 24');
  drawing.setAttribute('aria-hidden', 'true');
  for (const line of lines) {
    const path = document.createElementNS(space, 'path');
    path.setAttribute('d', line);
    drawing.append(path);
  }
  return drawing;
}

export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
