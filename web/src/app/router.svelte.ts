// Addresses: which page a path shows, and moving between pages without loading the application again.
import type { Component } from 'svelte';
import { keepScroll, restoreScroll, startScrolling } from './scrolling';

export type Parameters = Record<string, string>;
type PageModule = { default: Component<never> }; // a page takes the parameters of its address, or nothing
/** `stays`: the page is the same one when only its parameters change, and keeps what was chosen in it. */
export type Route = { path: string; load: () => Promise<PageModule>; title: string; stays?: true };

/** Return the page of a route, once it is loaded. */
export async function pageOf(route: Pick<Route, 'load'>): Promise<Component<{ parameters: Parameters }>> {
  return (await route.load()).default as Component<{ parameters: Parameters }>;
}

export type Place = { path: string; query: URLSearchParams };

const here = (): Place => ({ path: location.pathname, query: new URLSearchParams(location.search) });

let place = $state.raw(here());

/** The current address; changes wherever it is read. */
export const current = {
  get path() {
    return place.path;
  },
  get query() {
    return place.query;
  },
};

/** Show another page of the application, or replace this address without a new entry of the history. */
export function go(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', address);
  else {
    keepScroll();
    history.pushState(null, '', address);
  }
  place = here();
  if (!replace) scrollTo(0, 0);
}

/** Change parts of the query, which filters live in; null takes a part out. */
export function goWithQuery(parts: Record<string, string | null>, { replace = true } = {}): void {
  const query = new URLSearchParams(place.query);
  for (const [key, value] of Object.entries(parts)) {
    if (value === null || value === '') query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString();
  go(place.path + (text && `?${text}`), { replace });
}

/** Follow links of the application here; listen to Back and Forward. Returns how to stop. */
export function startRouter(): () => void {
  const onClick = (event: MouseEvent) => {
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (link.pathname.startsWith('/api/')) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  };
  const onBack = (event: PopStateEvent) => {
    place = here();
    restoreScroll(event.state);
  };
  const stopScrolling = startScrolling();
  document.addEventListener('click', onClick);
  addEventListener('popstate', onBack);
  restoreScroll(history.state); // the page was loaded again
  return () => {
    stopScrolling();
    document.removeEventListener('click', onClick);
    removeEventListener('popstate', onBack);
  };
}

/** Return the first route that a path fits, and what stands in the places of its parameters. */
export function match(
  routes: readonly Route[],
  path: string,
): { route: Route; parameters: Parameters } | null {
  for (const route of routes) {
    const parameters = parametersOf(route.path, path);
    if (parameters) return { route, parameters };
  }
  return null;
}

/** Return the parameters of a path such as `/inbox/:id`; null if it does not fit. `:name*` takes the rest. */
export function parametersOf(pattern: string, path: string): Parameters | null {
  const wanted = pattern.split('/').slice(1);
  const steps = path.replace(/\/$/, '').split('/').slice(1);
  const parameters: Parameters = {};
  for (const [index, step] of wanted.entries()) {
    if (step.startsWith(':') && step.endsWith('*')) {
      parameters[step.slice(1, -1)] = steps.slice(index).map(decode).join('/');
      return parameters;
    }
    const value = steps[index];
    if (value === undefined) return step === '' && steps.length === 0 ? parameters : null;
    if (step.startsWith(':')) parameters[step.slice(1)] = decode(value);
    else if (step !== value) return null;
  }
  return steps.length > wanted.length ? null : parameters;
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step; // not encoded as addresses are: taken as it stands
  }
}
