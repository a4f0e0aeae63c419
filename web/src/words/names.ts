/** Return one or two letters of a person's or team's name. */
export function initialsOf(name: string): string {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .split(/[\s._-]+/)
    .filter(Boolean);
  const letters = [words[0], words.length > 1 ? words[words.length - 1] : undefined].map((word) => [...(word ?? '')][0]);
  return letters.join('').toUpperCase() || '?';
}
