/** Return one or two letters of a person's or team's name. */
export function initialsOf(name: string): string {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .split(/[\s._-]+/)
    .filter(Boolean);
  const letters = [words[0], words.length > 1 ? words[words.length - 1] : undefined].map(
    (word) => [...(word ?? '')][0],
  );
  return letters.join('').toUpperCase() || '?';
}

/** Return where something lies, without its own name: `shop / sales / public`; empty at the top. */
export function pathOf(fullName: string | null | undefined): string {
  return stepsOf(fullName ?? '')
    .slice(0, -1)
    .join(' / ');
}

/** Return the steps of a full name; a quoted step may contain dots. */
export function stepsOf(fullName: string): string[] {
  return (fullName.match(/"(?:[^"]|"")*"|[^.]+/g) ?? []).map((step) =>
    step.startsWith('"') ? step.slice(1, -1).replaceAll('""', '"') : step,
  );
}

/** Return a name as a step of a full name: in quotes where it has dots or quotes. */
export const quoted = (name: string): string =>
  /[."]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;

/** Return the last step of a full name: what something is called where it lies. */
export function nameOf(fullName: string | null | undefined): string {
  return stepsOf(fullName ?? '').at(-1) ?? '';
}
