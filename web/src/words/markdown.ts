// Descriptions and messages in Markdown, read into parts that a page shows as text: never as markup.
import { addressOf } from './types';

export type Span =
  | { kind: 'text' | 'strong' | 'emphasis' | 'code'; text: string }
  | { kind: 'link'; text: string; href: string };
export type Block =
  | { kind: 'paragraph'; spans: Span[] }
  | { kind: 'heading'; spans: Span[] }
  | { kind: 'list'; points: Span[][] }
  | { kind: 'steps'; points: Span[][] }
  | { kind: 'code'; text: string };

// A mention `<#E::user::ann>` may be followed by a link, which some clients add for readers without mentions.
const SPANS =
  /<#E::(\w+)::((?:[^<>|:]|:(?!:))+)[^<>]*>(?:\[[^\]]*\]\([^)]*\))?|`([^`]+)`|\*\*([^*]+)\*\*|(?<![\w*])[*_]([^*_\s][^*_]*)[*_](?![\w*])|\[([^\]]*)\]\(([^)\s]+)\)|(https?:\/\/[^\s<>)"']+)/g;

/** Return the spans of a line. */
export function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  let end = 0;
  for (const match of line.matchAll(SPANS)) {
    if (match.index > end) spans.push({ kind: 'text', text: line.slice(end, match.index) });
    end = match.index + match[0].length;
    spans.push(spanOf(match));
  }
  if (end < line.length) spans.push({ kind: 'text', text: line.slice(end) });
  return spans;
}

function spanOf(match: RegExpMatchArray): Span {
  const [whole, type, name, code, strong, emphasis, text, href, address] = match;
  if (type && name) return { kind: 'link', text: `@${name}`, href: addressOf(type, name) };
  if (code) return { kind: 'code', text: code };
  if (strong) return { kind: 'strong', text: strong };
  if (emphasis) return { kind: 'emphasis', text: emphasis };
  if (address) return { kind: 'link', text: address, href: address };
  if (href && isSafe(href)) return { kind: 'link', text: text || href, href };
  return { kind: 'text', text: whole };
}

const isSafe = (href: string): boolean => /^(https?:\/\/|mailto:|\/(?![/\\]))/i.test(href);

/** Return the blocks of a text: paragraphs, headings, lists and code. */
export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  const parts = text.replaceAll('\r\n', '\n').split(/^```.*\n?/m);
  parts.forEach((part, index) => {
    if (index % 2) blocks.push({ kind: 'code', text: part.replace(/\n$/, '') });
    else for (const lines of part.split(/\n{2,}/)) blocks.push(...blocksOfLines(lines.split('\n')));
  });
  return blocks;
}

function blocksOfLines(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  for (const line of lines.filter((each) => each.trim())) {
    const last = blocks.at(-1);
    const [, heading] = line.match(/^#{1,6}\s+(.*)$/) ?? [];
    const [, bullet, point] = line.match(/^\s*([-*+]|\d+[.)])\s+(.*)$/) ?? [];
    if (heading !== undefined) blocks.push({ kind: 'heading', spans: spansOf(heading) });
    else if (bullet !== undefined && point !== undefined) {
      const kind = /\d/.test(bullet) ? 'steps' : 'list';
      if (last && last.kind === kind) last.points.push(spansOf(point));
      else blocks.push({ kind, points: [spansOf(point)] });
    } else if (last?.kind === 'paragraph') last.spans.push({ kind: 'text', text: '\n' }, ...spansOf(line));
    else blocks.push({ kind: 'paragraph', spans: spansOf(line) });
  }
  return blocks;
}

/** Return a text without its marks, on one line. */
export const plainOf = (text: string): string =>
  blocksOf(text)
    .flatMap((block) => ('spans' in block ? block.spans : 'points' in block ? block.points.flat() : [block]))
    .map((span) => span.text)
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim();
