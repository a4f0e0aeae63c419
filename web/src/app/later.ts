// Parts of a page that are loaded behind it: at the latest when they are shown, once.
import type { Component } from 'svelte';

/** Return a component that is loaded once it is shown or `begin` is called. */
export function laterOf<Properties extends Record<string, unknown>>(
  load: () => Promise<{ default: Component<Properties> }>,
): { readonly part: Promise<Component<Properties>>; begin: () => void } {
  let loading: Promise<Component<Properties>> | undefined;
  const part = () =>
    (loading ??= load().then(
      (module) => module.default,
      (error: unknown) => {
        loading = undefined; // the next who wants it loads it again
        throw error;
      },
    ));
  return {
    get part() {
      return part();
    },
    begin: () => void part().catch(() => undefined), // it is tried again where it is shown
  };
}
