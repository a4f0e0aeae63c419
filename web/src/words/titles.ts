// Titles of what happened, as the server words them, in the parts that a row shows.

/** Return what a title is about and what it says of it: `orders` and `column email removed`. */
export function partsOfTitle(title: string): { subject: string; text: string } {
  const [, subject, text] = title.match(/^(\S+): (.+)$/s) ?? [];
  return subject && text ? { subject, text } : { subject: '', text: title };
}

/** Return a reason without the alert that it came by, which has its own place. */
export function reasonWithoutAlert(sentence: string): string {
  return sentence.replace(/ \(alert [^()]*\)$/, '');
}

type Reason = { kind: string; sentence: string };

/** Return why one is told, as a row says it: what one owns, was asked or is assigned before what one follows. */
export function firstReason(reasons: readonly Reason[]): string {
  const owning = reasons.find(({ sentence }) => /\byou own\b/.test(sentence));
  const reason = owning ?? reasons.find(({ kind }) => kind !== 'follower') ?? reasons[0];
  return reasonWithoutAlert(reason?.sentence ?? '');
}

/** Return the number of a change request that a title names: `CR-2`. */
export const changeNumberOf = (title: string): string | undefined => title.match(/\bCR-\d+\b/)?.[0];
