// Settings of the server in words: their names, their values, and where a value was set.
import type { ServerSetting } from '../../api/admin';

export const ORIGINS: Readonly<Record<ServerSetting['origin'], string>> = {
  default: 'default',
  file: 'tocsin.toml',
  environment: 'environment',
  store: 'store, sealed',
  start: 'start of the process',
};

/** Return the name of a setting as words: `alerts_per_person` is `Alerts per person`. */
export function labelOf(name: string): string {
  const words = name.replace(/_(s|ms|h|mb)$/, ' ($1)').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Return a value as people read it: `not set`, `yes`, `10.0.0.0/8, 10.1.0.0/16`, `a = 1`. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'not set';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length ? value.map(String).join(', ') : 'none';
  if (typeof value === 'object') {
    const pairs = Object.entries(value);
    return pairs.length ? pairs.map(([key, one]) => `${key} = ${String(one)}`).join(', ') : 'none';
  }
  return value === '' ? 'empty' : String(value);
}

/** Return whether a setting has all these words, in its name, its value or its meaning. */
export function isChosen(setting: ServerSetting, words: string, isSetOnly: boolean): boolean {
  if (isSetOnly && setting.origin === 'default') return false;
  const { name, variable, description } = setting;
  const text = [name, labelOf(name), variable, description, valueText(setting.value)].join(' ').toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
