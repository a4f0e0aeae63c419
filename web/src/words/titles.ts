// Titles of what happened, as the server words them, in the parts that a row shows.

import { nameOf } from './names';

export type TitleParts = { subject: string; mark: string; text: string };

/**
 * Return what a title is about, a mark that a chip shows, and the rest: `orders`, `breaking`, `column email removed`.
 * A title that begins with an asset may begin with a name of several words; any other may be a sentence of a person.
 */
export function partsOfTitle(title: string, beginsWithAsset = false): TitleParts {
  const name = beginsWithAsset ? '.{1,120}?' : '\\S+';
  const [, subject, mark = '', text] =
    title.match(new RegExp(`^(${name}): (?:(breaking(?:, [^:]+)?): )?(.+)$`, 's')) ?? [];
  return subject && text ? { subject, mark, text } : { subject: '', mark: '', text: title };
}

export type TitlePiece = { text: string; isCode: boolean };
const COLUMN = /(?<=\bcolumn )[\w.]+(?= (?:[A-Z]|removed|added|renamed|changed|is |type|description))/g;

/** Return what happened in pieces, the names of columns apart: they are code. */
export function piecesOf(text: string): TitlePiece[] {
  const pieces: TitlePiece[] = [];
  let end = 0;
  for (const { 0: name, index } of text.matchAll(COLUMN)) {
    pieces.push({ text: text.slice(end, index), isCode: false }, { text: name, isCode: true });
    end = index + name.length;
  }
  return [...pieces, { text: text.slice(end), isCode: false }].filter((piece) => piece.text);
}

/** Return whether the title of an entry begins with an asset: those of conversations and tasks begin with a person. */
export const isAboutAsset = ({ entityType }: { entityType: string }): boolean => entityType !== 'thread';

/** Return a sentence with a capital letter. */
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Return a reason without the alert that it came by, which has its own place. */
export function reasonWithoutAlert(sentence: string): string {
  return sentence.replace(/ \(alert [^()]*\)$/, '');
}

const FULL_NAME = /(?<![\w@./:#-])(?:"[^"]+"|\w+)(?:\.(?:"[^"]+"|\w+)){2,}(?![\w@/-])/g;

/** Return a reason with the last step of each full name: of `shop.sales.public.orders`, `orders`. */
export const withShortNames = (sentence: string): string =>
  sentence.replace(FULL_NAME, (name) => nameOf(name));

type Reason = { kind: string; sentence: string };

/** Return why one is told, as a row says it: what one owns, was asked or is assigned before what one follows. */
export function firstReason(reasons: readonly Reason[]): string {
  const owning = reasons.find(({ sentence }) => /\byou own\b/.test(sentence));
  const reason = owning ?? reasons.find(({ kind }) => kind !== 'follower') ?? reasons[0];
  return withShortNames(reasonWithoutAlert(reason?.sentence ?? ''));
}

/** Return the number of a change request that a title names: `CR-2`. */
export const changeNumberOf = (title: string): string | undefined => title.match(/\bCR-\d+\b/)?.[0];
