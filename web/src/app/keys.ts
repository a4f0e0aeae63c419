// Keys of the whole application: `g` and a letter leads to a place, `/` and ⌘K search, `?` lists the keys.
import { overlays } from './overlays.svelte';
import { places } from './places';
import { go } from './router.svelte';
import { toasts } from './toasts.svelte';

const AFTER_G_MS = 1_500;

/** Return whether a key was meant for a field. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  if (target instanceof HTMLInputElement) return !/^(checkbox|radio|button|submit)$/.test(target.type);
  return !!target && (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName));
}

/** The keys that every page has, as the list of keys shows them. */
export const keysOfPages: readonly { title: string; keys: readonly (readonly [string, string])[] }[] = [
  {
    title: 'Everywhere',
    keys: [
      ['⌘K or /', 'Search, go, do'],
      ['?', 'These keys'],
      ['z', 'Undo what was done last'],
      ['⌘↵ or Ctrl ↵', 'Save what is being written'],
      ['Esc', 'Close what lies over the page'],
    ],
  },
  {
    title: 'Lists',
    keys: [
      ['j  k', 'Next row, row before'],
      ['x', 'Select the row'],
    ],
  },
  {
    title: 'Inbox',
    keys: [
      ['e', 'Done'],
      ['s', 'Snooze until tomorrow'],
      ['b', 'Save'],
      ['u', 'Unread again'],
      ['m', 'Mute'],
      ['a', 'Acknowledge the incident'],
      ['⇧R', 'Mark information read'],
    ],
  },
  {
    title: 'Explore',
    keys: [
      ['↓  ↑', 'Next asset, asset before'],
      ['↵', 'Open the asset'],
      ['f', 'Follow it, or no longer'],
      ['c', 'Copy its full name'],
    ],
  },
  {
    title: 'Lineage',
    keys: [
      ['←  →', 'A step up, a step down'],
      ['↑  ↓', 'Within a step'],
      ['+  −', 'Larger, smaller'],
    ],
  },
  { title: 'Go to', keys: places.map(({ key, label }) => [`g ${key}`, label] as const) },
];

/** Type into the palette before its field is there: what a person types at once after ⌘K is not lost. */
function typeEarly(event: KeyboardEvent): boolean {
  const isLoaded = document.querySelector('[aria-controls="palette-choices"]') === document.activeElement;
  if (isLoaded || event.ctrlKey || event.metaKey || event.altKey || event.key.length !== 1) return false;
  overlays.text += event.key;
  event.preventDefault();
  event.stopImmediatePropagation();
  return true;
}

/** Press the button that saves the form in which a text is written; returns whether there is one. */
function saveText({ target }: KeyboardEvent): boolean {
  const form = target instanceof HTMLElement ? target.closest('form') : null;
  const button = form?.querySelector<HTMLButtonElement>('button[type=submit]:not(:disabled)');
  button?.click();
  return !!button;
}

/** Listen to the keys; returns how to stop. */
export function startKeys(): () => void {
  let goingUntilMs = 0;
  const onKey = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      overlays.show('palette');
      return;
    }
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && isTyping(event)) {
      if (saveText(event)) event.preventDefault();
      return;
    }
    if (overlays.open === 'palette' && typeEarly(event)) return;
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || overlays.open) return;
    if (performance.now() < goingUntilMs) {
      goingUntilMs = 0;
      const place = places.find(({ key }) => key === event.key);
      if (place) {
        event.stopImmediatePropagation(); // `g a` is not also the page's `a`
        go(place.path);
      }
    } else act(event);
  };
  const act = (event: KeyboardEvent) => {
    if (event.key === 'g') goingUntilMs = performance.now() + AFTER_G_MS;
    else if (event.key === 'z') toasts.undo();
    else if (event.key === '?') overlays.show('keys');
    else if (event.key === '/') overlays.show('palette');
    else return;
    event.preventDefault();
    event.stopImmediatePropagation(); // the page has other keys
  };
  addEventListener('keydown', onKey, { capture: true });
  return () => removeEventListener('keydown', onKey, { capture: true });
}
