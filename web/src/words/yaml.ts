// Plain values as YAML 1.2, as `tocsin alerts apply` reads it.
const PLAIN = /^[A-Za-z_][\w./ -]*$/;
const WORDS = new Set(['true', 'false', 'null', 'yes', 'no', 'on', 'off']);

/** Return a value as YAML; keys without a value are left out. */
export function yamlOf(value: unknown, indent = ''): string {
  if (Array.isArray(value)) {
    if (!value.length) return ' []\n';
    return '\n' + value.map((item) => `${indent}- ${itemOf(item, `${indent}  `)}`).join('');
  }
  if (value && typeof value === 'object') {
    const entries = Object.entries(value).filter(([, one]) => one !== null && one !== undefined);
    if (!entries.length) return ' {}\n';
    return '\n' + entries.map(([key, one]) => `${indent}${key}:${yamlOf(one, `${indent}  `)}`).join('');
  }
  return ` ${scalarOf(value)}\n`;
}

/** Return the keys and values of a document, without the line break before. */
export const documentOf = (value: object): string => yamlOf(value).replace(/^\n/, '');

const itemOf = (item: unknown, indent: string): string =>
  item && typeof item === 'object' ? yamlOf(item, indent).trimStart() : `${scalarOf(item)}\n`;

function scalarOf(value: unknown): string {
  if (typeof value !== 'string') return String(value);
  return PLAIN.test(value) && !WORDS.has(value.toLowerCase()) && value.trim() === value
    ? value
    : JSON.stringify(value);
}
