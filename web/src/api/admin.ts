// What administrators read and write: health, lag of the readers, dead letters, people, bots, retention, settings.
import { read, write, type Page } from './collections';

export type Health = {
  status: string;
  problems: (string | { problem?: string; name?: string; text?: string; message?: string })[];
  alertsWithFindings: number;
  logOffset: number;
};
export type Reader = {
  reader: string;
  kind: string;
  alert?: string;
  logOffset: number | null;
  lagEvents: number;
  isEstimate: boolean;
  lagSeconds: number;
  growingSince?: number;
  exceededSince?: number;
  limit: number | null;
  readAt?: number;
};
export type Lag = {
  logOffset: number;
  measuredAt: number;
  readers: Reader[];
  missing: { reader: string; reason: string }[];
};
export type DeadLetter = {
  id: string;
  alert: { name: string };
  destination: { name?: string; type: string; category: string };
  recipient: string;
  reason: string;
  updatedAt: number;
};
export type Person = {
  id: string;
  name: string;
  displayName?: string;
  email?: string;
  isAdmin?: boolean;
  fullyQualifiedName: string;
  teams?: { name: string; displayName?: string }[];
  roles?: { name: string; displayName?: string }[];
};
export type Bot = {
  id: string;
  name: string;
  displayName?: string;
  description?: string;
  botUser?: { id: string; name: string };
};
export type Retention = {
  settings: { rules: { eventType: string; logDays?: number; auditDays?: number }[] };
  readers: { name: string; waitsSince: number | null }[];
  removed: { log: number; lake: number };
  lastRun: { at?: number; timestamp?: number } | null;
};
export type Setting = { config_type: string; config_value: unknown };

export const healthOf = (): Promise<Health> => read('healthcheck');
export const lagOf = (): Promise<Lag> => read('events/lag');
export const deadLettersOf = (): Promise<Page<DeadLetter>> => read('events/deliveries', { limit: 100 });
export const peopleOf = (after: string, namePrefix: string): Promise<Page<Person>> =>
  read('users', { isBot: false, fields: 'teams,roles', limit: 50, after, namePrefix });
export const botsOf = (): Promise<Page<Bot>> => read('bots', { limit: 100 });
export const retentionOf = (): Promise<Retention> => read('system/retention');
export const settingsOf = (): Promise<Page<Setting>> => read('system/settings');
export const presetRetention = (preset: string): Promise<unknown> =>
  write('PUT', 'system/retention', { preset });
