/** Return the bare words of a query, without fields, operators and signs. */
export function wordsOf(query: string): readonly string[] {
  return query
    .replace(/[\w.]+:(\([^)]*\)|"[^"]*"|\S+)/g, ' ')
    .split(/[^\p{L}\p{N}_]+/u)
    .filter((word) => word.length > 1 && !/^(AND|OR|NOT)$/.test(word));
}

/** Return a text in parts, those that are one of the words marked; without case. */
export function partsOf(text: string, words: readonly string[]): { text: string; isMarked: boolean }[] {
  if (!words.length) return [{ text, isMarked: false }];
  const pattern = new RegExp(`(${words.map(escaped).join('|')})`, 'giu');
  return text
    .split(pattern)
    .map((part, index) => ({ text: part, isMarked: index % 2 === 1 }))
    .filter((part) => part.text);
}
const escaped = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
