// Rows of the inbox: an entry that needs its person, or a cause of several entries.
import type { Cause, Entry } from '../../api/inbox';
import { capitalized, withShortNames } from '../../words/titles';
import { keyOfCause } from '../../words/waiting';

export type Row = {
  key: string;
  id: string;
  entry: Entry;
  title: string;
  cause?: Cause;
  isUnread: boolean;
  atMs: number;
};

export const rowOfEntry = (entry: Entry): Row => ({
  key: entry.id,
  id: entry.id,
  entry,
  title: entry.title,
  isUnread: !entry.read,
  atMs: entry.timestamp,
});

export const rowOfCause = (cause: Cause): Row => ({
  key: keyOfCause(cause.id),
  id: cause.leading.id,
  entry: cause.leading,
  title: cause.title,
  cause,
  isUnread: cause.unread > 0,
  atMs: cause.timestamp,
});

/** Return the asset that an entry is about, which a mute mutes. */
export const assetOf = (entry: Entry): { id: string; type: string; fullyQualifiedName: string } => {
  const about = entry.about as { id: string; type: string; fullyQualifiedName?: string } | undefined;
  return {
    id: about?.id ?? entry.entityId,
    type: about?.type ?? entry.entityType,
    fullyQualifiedName: about?.fullyQualifiedName ?? entry.entityFullyQualifiedName ?? '',
  };
};

/** Return why a person was told, as a sentence; its alert is named beside it. */
export function whyOf({ sentence, subscriptionName }: Entry['reasons'][number]): string {
  return capitalized(withShortNames(sentence.replace(` (alert ${subscriptionName})`, '')));
}

/** Return the rows without what comes twice, as where a row moved from one page to the next between two reads. */
export function distinct(rows: readonly Row[]): Row[] {
  return [...new Map(rows.toReversed().map((row) => [row.key, row])).values()].toReversed();
}

/** Return the rows of a list with those that were opened in it and left it since: each stays where it was. */
export function withKept(rows: readonly Row[], kept: ReadonlyMap<string, Row>): Row[] {
  const keys = new Set(rows.map(({ key }) => key));
  const gone = [...kept.values()].filter(({ key }) => !keys.has(key));
  if (!gone.length) return [...rows];
  return [...rows, ...gone].toSorted((one, other) => other.atMs - one.atMs);
}
