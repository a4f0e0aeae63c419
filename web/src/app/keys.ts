// Keys of the whole application: `g` and a letter leads to a place, `/` searches.
import { places } from './places';
import { go } from './router.svelte';

const AFTER_G_MS = 1_500;

/** Return whether a key was meant for a field. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return !!target && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** Listen to the keys; returns how to stop. */
export function startKeys(): () => void {
  let goingUntilMs = 0;
  const onKey = (event: KeyboardEvent) => {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (performance.now() < goingUntilMs) {
      goingUntilMs = 0;
      const place = places.find(({ key }) => key === event.key);
      if (place) go(place.path);
    } else if (event.key === 'g') goingUntilMs = performance.now() + AFTER_G_MS;
    else if (event.key === '/') {
      event.preventDefault();
      go('/explore');
    }
  };
  addEventListener('keydown', onKey);
  return () => removeEventListener('keydown', onKey);
}
