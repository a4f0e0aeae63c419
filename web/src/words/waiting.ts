// Rows that wait: what came while a list is read stands behind a button, so that no row moves under the cursor.
type Keyed = { key: string };

/** Return the rows that are shown, and those that wait; before the first are accepted, all are shown. */
export function parted<Row extends Keyed>(
  rows: readonly Row[],
  accepted: ReadonlySet<string> | null,
): { shown: Row[]; waiting: Row[] } {
  if (!accepted) return { shown: [...rows], waiting: [] };
  return {
    shown: rows.filter(({ key }) => accepted.has(key)),
    waiting: rows.filter(({ key }) => !accepted.has(key)),
  };
}

/**
 * Return what stays the same of a cause when more joins it: whose it is, and where in the log it begins, as a person who
 * edits the same schema again after an hour begins another one.
 */
export const keyOfCause = (id: string): string => id.split('.').slice(0, 2).join('.');
