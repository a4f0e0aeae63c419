// Drafts of alerts that are kept in this tab while one is elsewhere; each person has their own.
import { session } from '../../../api/session.svelte';
import type { Written } from './draft.svelte';

export type Kept = { at: number; written: Written };

const keyOf = (name: string | undefined) => `tocsin.draft.${session.userId}.${name ?? ''}`;

export function keptDraft(name: string | undefined): Kept | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(keyOf(name)) ?? 'null') as Kept | null) ?? undefined;
  } catch {
    return undefined; // of an older version of this page
  }
}

export function keepDraft(name: string | undefined, written: Written): Kept {
  const kept = { at: Date.now(), written };
  sessionStorage.setItem(keyOf(name), JSON.stringify(kept));
  return kept;
}

export const forgetDraft = (name: string | undefined): void => sessionStorage.removeItem(keyOf(name));
