// Drafts of alerts that are kept in this tab while one is elsewhere; each person has their own.
import { session } from '../../../api/session.svelte';
import type { Written } from './draft.svelte';

/** What is written, and what was there before: only what differs is taken into a newer alert. */
export type Kept = { at: number; written: Written; before: Written };

const keyOf = (name: string | undefined) => `tocsin.draft.${session.userId}.${name ?? ''}`;

export function keptDraft(name: string | undefined): Kept | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(keyOf(name)) ?? 'null') as Kept | null;
    return kept?.before ? kept : undefined; // none of an older version of this page
  } catch {
    return undefined;
  }
}

export function keepDraft(name: string | undefined, written: Written, before: Written): Kept {
  const kept = { at: Date.now(), written, before };
  sessionStorage.setItem(keyOf(name), JSON.stringify(kept));
  return kept;
}

export const forgetDraft = (name: string | undefined): void => sessionStorage.removeItem(keyOf(name));
