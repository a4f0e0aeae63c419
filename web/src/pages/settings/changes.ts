// Changes of preferences: of the newest ones, so that what another tab has changed meanwhile is kept.
import { ApiError } from '../../api/client';
import { putPreferences, taggedPreferencesOf, type Preferences, type Tagged } from '../../api/preferences';

export type Change = (preferences: Preferences) => Preferences;
/** What was, and what is now. */
export type Written = { previous: Preferences; now: Tagged };
/** What was, and the tag of what it may be put in the place of. */
export type Undoable = { preferences: Preferences; etag: string };
const TRIES = 3;

export const isChangedMeanwhile = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 412;

/** Change the newest preferences of a person; what is changed meanwhile is read again, and changed. */
export async function changeNewest(userId: string, change: Change, tries = TRIES): Promise<Written> {
  const { preferences, etag } = await taggedPreferencesOf(userId);
  try {
    return { previous: preferences, now: await putPreferences(userId, change(preferences), etag) };
  } catch (error) {
    if (tries > 1 && isChangedMeanwhile(error)) return changeNewest(userId, change, tries - 1);
    throw error;
  }
}
