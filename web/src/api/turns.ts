// Turns among the tabs of this browser: one tab does a thing at a time.

/** Run `act` when no other tab runs one of this name. Without TLS browsers have no locks: then each tab runs its own. */
export function inTurn<T>(name: string, act: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!navigator.locks) return act();
  return navigator.locks.request(name, signal ? { signal } : {}, act) as Promise<T>;
}
