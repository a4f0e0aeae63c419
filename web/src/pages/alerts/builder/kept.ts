// Drafts of alerts that are kept in this tab while one is elsewhere; each person has their own.
import { session } from '../../../api/session.svelte';
import { serverNow } from '../../../words/now';
import type { Written } from './draft.svelte';

/** What is written, and what was there before: only what differs is taken into a newer alert. */
export type Kept = { at: number; written: Written; before: Written };

/** Return where the draft of an alert, or of a new one, is kept for who is logged in now. */
export const placeOf = (name: string | undefined): string => `tocsin.draft.${session.userId}.${name ?? ''}`;

export function keptDraft(place: string): Kept | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(place) ?? 'null') as Kept | null;
    return kept?.before ? kept : undefined; // none of an older version of this page
  } catch {
    return undefined;
  }
}

export function keepDraft(place: string, written: Written, before: Written): Kept {
  const kept = { at: serverNow(), written, before };
  sessionStorage.setItem(place, JSON.stringify(kept));
  return kept;
}

export const forgetDraft = (place: string): void => sessionStorage.removeItem(place);
