// Messages of channels as people read them there: a title, lines of styled text, and buttons.
export type Run = { text: string; style?: 'bold' | 'italic' | 'strike' | 'underline' | 'subtle' | 'code' };
export type Seen = { title: string; lines: Run[][]; buttons: string[]; note?: string };
type Json = Record<string, unknown>;

const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Return a message as its channel shows it. */
export function seenOf(channel: string, message: Json): Seen {
  if (channel === 'Slack') return seenInSlack(message);
  if (channel === 'MsTeams') return seenInTeams(message);
  if (channel === 'GChat') return seenInChat(message);
  if (channel === 'Email') return seenInMail(message);
  return {
    title: textOf(message.title),
    lines: [
      ...listOf(message.changes).map((line) => [{ text: String(line) }]),
      [{ text: textOf(message.reason), style: 'subtle' }],
    ],
    buttons: [],
  };
}

function seenInSlack(message: Json): Seen {
  const seen: Seen = { title: '', lines: [], buttons: [] };
  for (const block of listOf(message.blocks)) {
    if (block.type === 'header') seen.title = textOf((block.text as Json)?.text);
    else if (block.type === 'rich_text')
      for (const section of listOf(block.elements))
        seen.lines.push(...linesOf(listOf(section.elements).map(runOf)));
    else if (block.type === 'section')
      seen.lines.push(
        ...[block.text as Json, ...listOf(block.fields)]
          .filter(Boolean)
          .flatMap((one) => linesOf(marked(one))),
      );
    else if (block.type === 'context') {
      const runs = listOf(block.elements).flatMap((one) => marked(one, 'subtle'));
      const isLink =
        listOf(block.elements).length === 1 &&
        /^<http[^|]*\|[^>]*>$/.test(textOf(block.elements && (listOf(block.elements)[0] as Json).text));
      if (isLink) seen.buttons.push(...runs.map(({ text }) => text.trim()));
      else seen.lines.push(runs);
    } else if (block.type === 'actions')
      seen.buttons.push(...listOf(block.elements).map((one) => textOf((one.text as Json)?.text)));
  }
  return seen;
}

/** Return a text of Slack: links and dates as what they say. */
function marked(value: Json, style?: Run['style']): Run[] {
  const said = textOf(value.text)
    .replace(/<[^|>]*\|([^>]*)>/g, '$1')
    .replace(/<(https?:[^>]*)>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
  return [{ text: `${said} `, ...(style ? { style } : {}) }];
}

function runOf(element: Json): Run {
  const text = textOf(element.text) || textOf(element.url);
  const style = Object.keys((element.style ?? {}) as Json)[0] as Run['style'];
  return style ? { text, style } : { text };
}

/** Return runs by line, without empty lines. */
function linesOf(runs: readonly Run[]): Run[][] {
  const lines: Run[][] = [[]];
  for (const run of runs) {
    const [first = '', ...more] = run.text.split('\n');
    if (first) lines.at(-1)!.push({ ...run, text: first });
    for (const text of more) lines.push(text ? [{ ...run, text }] : []);
  }
  return lines.filter((line) => line.length);
}

function seenInTeams(message: Json): Seen {
  const card = (listOf(message.attachments)[0]?.content ?? {}) as Json;
  const lines = listOf(card.body).flatMap((block) =>
    linesOf(
      listOf(block.inlines).length ? listOf(block.inlines).map(inlineOf) : [{ text: textOf(block.text) }],
    ),
  );
  const [title = [], ...rest] = lines;
  return {
    title: title.map(({ text }) => text).join(''),
    lines: rest,
    buttons: listOf(card.actions).map((one) => textOf(one.title)),
  };
}

function inlineOf(inline: Json): Run {
  const style = inline.strikethrough
    ? 'strike'
    : inline.underline
      ? 'underline'
      : inline.isSubtle
        ? 'subtle'
        : inline.weight === 'Bolder'
          ? 'bold'
          : undefined;
  return { text: textOf(inline.text), ...(style ? { style } : {}) } as Run;
}

function seenInChat(message: Json): Seen {
  const card = (listOf(message.cardsV2)[0]?.card ?? {}) as Json;
  const header = (card.header ?? {}) as Json;
  const seen: Seen = { title: textOf(header.title), lines: [], buttons: [] };
  if (header.subtitle) seen.lines.push([{ text: textOf(header.subtitle), style: 'subtle' }]);
  for (const widget of listOf(card.sections).flatMap((section) => listOf(section.widgets))) {
    const text = textOf((widget.textParagraph as Json)?.text);
    if (text) seen.lines.push(...linesOf(taggedRuns(text)));
    seen.buttons.push(...listOf((widget.buttonList as Json)?.buttons).map((one) => textOf(one.text)));
  }
  return seen;
}

const TAGS: Record<string, Run['style']> = {
  b: 'bold',
  i: 'subtle',
  s: 'strike',
  u: 'underline',
  code: 'code',
};

/** Return a text with Google Chat's few tags as runs; anything else stays text. */
function taggedRuns(text: string): Run[] {
  const runs: Run[] = [];
  let style: Run['style'];
  for (const part of text.replaceAll('<br>', '\n').split(/(<\/?[a-z]+(?: [^>]*)?>)/)) {
    const [, closes, tag = ''] = part.match(/^<(\/?)([a-z]+)/) ?? [];
    if (tag) style = closes ? undefined : TAGS[tag];
    else if (part) runs.push(style ? { text: unescaped(part), style } : { text: unescaped(part) });
  }
  return runs;
}

const unescaped = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

const PAGE_OF_OURS = /^https?:\/\/\S+\/#\/\S*$/; // in the text for readers without HTML

function seenInMail(message: Json): Seen {
  const subject = textOf(message.subject);
  const [first = '', ...rest] = textOf(message.text).trim().split('\n');
  const lines = (first.trim() === subject ? rest : [first, ...rest]).filter((line) => line.trim());
  return {
    title: subject,
    lines: lines.filter((line) => !PAGE_OF_OURS.test(line.trim())).map((line) => [{ text: line }]),
    buttons: lines.some((line) => PAGE_OF_OURS.test(line.trim())) ? ['Open in Tocsin'] : [],
  };
}
