// Back shows a page as it was left: how far it was scrolled, and the link that was followed from it has the focus.
type Kept = { scrollY: number; focused: string | null };

const WAITS_MS = 3_000;
const SETTLED_MS = 120;

const isKept = (state: unknown): state is Kept => typeof (state as Kept | null)?.scrollY === 'number';

/** Keep how this page is left in its entry of the history; before another is added. */
export function keepScroll(): void {
  const focused = document.activeElement?.closest('a')?.getAttribute('href') ?? null;
  history.replaceState({ scrollY, focused } satisfies Kept, '');
}

/** Bring a page back as it was left, once it is as long as it was; who scrolls meanwhile is left alone. */
export function restoreScroll(state: unknown): void {
  if (!isKept(state)) return;
  const stop = new AbortController();
  const settle = () => {
    if (stop.signal.aborted) return;
    const link =
      state.focused === null
        ? null
        : document.querySelector<HTMLElement>(`main a[href="${CSS.escape(state.focused)}"]`);
    const isLong = document.documentElement.scrollHeight >= state.scrollY + innerHeight;
    if (isLong) scrollTo(0, state.scrollY);
    link?.focus({ preventScroll: true });
    if (isLong && (link || state.focused === null)) stop.abort();
  };
  const growing = new ResizeObserver(settle);
  growing.observe(document.body);
  stop.signal.addEventListener('abort', () => growing.disconnect());
  for (const name of ['wheel', 'touchmove', 'keydown', 'pointerdown'])
    addEventListener(name, () => stop.abort(), { once: true, passive: true, signal: stop.signal });
  setTimeout(() => stop.abort(), WAITS_MS);
}

/** Keep how far pages are scrolled while they are; returns how to stop. */
export function startScrolling(): () => void {
  history.scrollRestoration = 'manual'; // the browser would scroll before the page is there
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onScroll = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const before = isKept(history.state) ? history.state.focused : null;
      history.replaceState({ scrollY, focused: before } satisfies Kept, '');
    }, SETTLED_MS);
  };
  addEventListener('scroll', onScroll, { passive: true });
  return () => {
    clearTimeout(timer);
    removeEventListener('scroll', onScroll);
  };
}
