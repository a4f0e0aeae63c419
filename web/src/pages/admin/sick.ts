// Destinations by their dead letters: how many each has, and why the newest one failed.
import type { DeadLetter } from '../../api/admin';

export type SickDestination = {
  key: string;
  name: string;
  type: string;
  alert: string;
  reason: string;
  atMs: number;
  count: number;
};

/** Return the destinations of dead letters, which come newest first; those with most first. */
export function sickOf(letters: readonly DeadLetter[]): SickDestination[] {
  const byKey = new Map<string, SickDestination>();
  for (const { destination, alert, recipient, reason, updatedAt } of letters) {
    const name = destination.name ?? recipient;
    const key = `${alert.name} ${destination.type} ${name}`;
    const before = byKey.get(key);
    if (before) before.count += 1;
    else
      byKey.set(key, {
        key,
        name,
        type: destination.type,
        alert: alert.name,
        reason,
        atMs: updatedAt,
        count: 1,
      });
  }
  return [...byKey.values()].sort((a, b) => b.count - a.count);
}
