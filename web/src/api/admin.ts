// What administrators read and write: health, lag of the readers, dead letters, people, bots, retention, settings.
import type { Reference } from '../words/references';
import { read, write, type Page } from './collections';
import type { components } from './schema';

export type Health = {
  status: string;
  problems: { name: string; message: string }[];
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
  missing: string[];
};
export const SPANS = ['1h', '24h', '7d'] as const;
export type Span = (typeof SPANS)[number];
export type LagHistory = components['schemas']['LagHistory'];
export type ServerSetting = components['schemas']['ServerSetting'];
export type Quota = components['schemas']['Quotas']['quotas'][number];
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
  teams?: Reference[];
  roles?: Reference[];
};
export type Bot = {
  id: string;
  name: string;
  displayName?: string;
  description?: string;
  botUser?: { id: string; name: string };
};
export type RetentionRule = { eventType: string; logDays?: number; auditDays?: number };
export type RetentionPreview = {
  log: number;
  logByType: Record<string, number>;
  kept: Record<string, number>;
  isComplete: boolean;
  takesAway: { setting: string; feature: string; effect: string }[];
};
export type Hold = {
  id: string;
  reason: string;
  entityId?: string | null;
  userName?: string | null;
  since?: number | null;
  until?: number | null;
  setBy?: string;
  setAt?: number;
  liftedBy?: string | null;
  liftedAt?: number | null;
};
export type Retention = {
  settings: { rules: RetentionRule[] };
  presets: { off: { rules: RetentionRule[] }; standard: { rules: RetentionRule[] } };
  readers: { name: string; waitsSince: number | null }[];
  removed: { log: number; lake: number };
  lastRun: { at?: number; timestamp?: number } | null;
};
export type Setting = { config_type: string; config_value: unknown };

export const healthOf = (): Promise<Health> => read('healthcheck');
export const lagOf = (): Promise<Lag> => read('events/lag');
export const historyOf = (span: Span): Promise<LagHistory> => read('events/lag/history', { span });
export const serverSettingsOf = (): Promise<Page<ServerSetting>> => read('system/server/settings');
export const quotasOf = (): Promise<{ renewedAt: number; quotas: Quota[] }> => read('system/server/quotas');
export const deadLettersOf = (): Promise<Page<DeadLetter>> => read('events/deliveries', { limit: 100 });
export const peopleOf = (after: string, namePrefix: string, isGone = false): Promise<Page<Person>> =>
  read('users', {
    isBot: false,
    fields: 'teams,roles',
    limit: 50,
    after,
    namePrefix,
    include: isGone ? 'deleted' : 'non-deleted',
  });
export type Erasure = {
  id: string;
  dryRun: boolean;
  state: string;
  progress: { done: number; total: number };
  reason?: string;
  message?: string;
  result?: { rewritten?: Record<string, number>; lake?: { events: number } };
};
/** Erase a person, named to confirm it; or only count what names the person. */
export const eraseUser = (id: string, body: { dryRun: true } | { confirm: string }): Promise<Erasure> =>
  write('POST', `users/${id}/erase`, body);
export const erasureOf = (id: string): Promise<Erasure> => read(`users/${id}/erase`);
export const botsOf = (): Promise<Page<Bot>> => read('bots', { limit: 100 });
export const retentionOf = (): Promise<Retention> => read('system/retention');
export const settingsOf = (): Promise<Page<Setting>> => read('system/settings');
/** Replace the rules of retention; what none of them names is kept for good. */
export const writeRetention = (rules: readonly RetentionRule[]): Promise<unknown> =>
  write('PUT', 'system/retention', { rules });
/** Return what rules would remove now; nothing is removed. */
export const previewRetention = (rules: readonly RetentionRule[]): Promise<RetentionPreview> =>
  write('POST', 'system/retention/preview', { rules });
export const holdsOf = (): Promise<Page<Hold>> => read('system/retention/holds');
