// What became of a text, word by word: parts that stayed, went or came.
export type DiffPart = { text: string; kind: 'same' | 'gone' | 'new' };

const MOST_WORDS = 400;

/** Return the parts of two texts in reading order; long texts are compared as a whole. */
export function diffOf(before: string, after: string): DiffPart[] {
  const [old, fresh] = [wordsOf(before), wordsOf(after)];
  if (old.length > MOST_WORDS || fresh.length > MOST_WORDS) return wholeOf(before, after);
  const lengths = commonLengths(old, fresh);
  const parts: DiffPart[] = [];
  let [at, to] = [0, 0];
  while (at < old.length || to < fresh.length) {
    if (at < old.length && old[at] === fresh[to]) {
      parts.push({ text: old[at++]!, kind: 'same' });
      to++;
    } else if (at < old.length && (to === fresh.length || lengths[at + 1]![to]! >= lengths[at]![to + 1]!))
      parts.push({ text: old[at++]!, kind: 'gone' });
    else parts.push({ text: fresh[to++]!, kind: 'new' });
  }
  return isReadable(parts) ? joined(parts) : wholeOf(before, after);
}

const wholeOf = (before: string, after: string): DiffPart[] =>
  joined([
    { text: before, kind: 'gone' },
    { text: after, kind: 'new' },
  ]);

/** Return whether enough words stayed to read the two texts as one: else one stands after the other. */
function isReadable(parts: readonly DiffPart[]): boolean {
  const count = (kind: DiffPart['kind']) =>
    parts.filter((part) => part.kind === kind && /[\p{L}\p{N}]/u.test(part.text)).length;
  const [same, gone, fresh] = [count('same'), count('gone'), count('new')];
  return !gone || !fresh || same * 2 >= Math.min(gone, fresh);
}

const wordsOf = (text: string): string[] => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

/** Return, for each pair of ends, how many words the rests have in common. */
function commonLengths(old: readonly string[], fresh: readonly string[]): number[][] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Array<number>(fresh.length + 1).fill(0));
  for (let at = old.length - 1; at >= 0; at--)
    for (let to = fresh.length - 1; to >= 0; to--)
      lengths[at]![to] =
        old[at] === fresh[to]
          ? lengths[at + 1]![to + 1]! + 1
          : Math.max(lengths[at + 1]![to]!, lengths[at]![to + 1]!);
  return lengths;
}

function joined(parts: readonly DiffPart[]): DiffPart[] {
  const all: DiffPart[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (last?.kind === part.kind) last.text += part.text;
    else if (part.text) all.push({ ...part });
  }
  return all;
}
