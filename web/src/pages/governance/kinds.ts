// The kinds of things that governance has: their words, where they lie in the API, and what can be made in them.
import { stepsOf } from '../../words/names';
import { typeWithin } from './tree';

export type Kind = {
  path: string;
  label: string;
  noun: string;
  plural: string;
  collection: string;
  type: string;
  fields: string;
  hint: string;
  /** What a number beside a name counts; it is not shown for kinds without. */
  counted?: string;
};

export const kinds: readonly Kind[] = [
  {
    path: 'domains',
    label: 'Domains',
    noun: 'domain',
    plural: 'domains',
    collection: 'domains',
    type: 'domain',
    fields: 'owners',
    hint: 'A domain is a part of the business; what lies in it follows its owners and policies.',
  },
  {
    path: 'glossaries',
    label: 'Glossaries',
    noun: 'glossary',
    plural: 'glossaries',
    collection: 'glossaries',
    type: 'glossary',
    fields: 'owners,termCount',
    hint: 'A glossary holds the terms of the business, which label assets and columns.',
    counted: 'terms',
  },
  {
    path: 'classifications',
    label: 'Tags',
    noun: 'classification',
    plural: 'classifications',
    collection: 'classifications',
    type: 'classification',
    fields: 'owners,termCount',
    hint: 'A classification holds tags, such as how sensitive something is.',
    counted: 'tags',
  },
  {
    path: 'products',
    label: 'Data products',
    noun: 'data product',
    plural: 'data products',
    collection: 'dataProducts',
    type: 'dataProduct',
    fields: 'owners',
    hint: 'A data product is what a domain offers to others: assets, with who answers for them.',
  },
  {
    path: 'teams',
    label: 'Teams',
    noun: 'team',
    plural: 'teams',
    collection: 'teams',
    type: 'team',
    fields: '',
    hint: 'A team owns assets and is told as one; teams lie in teams.',
  },
  {
    path: 'roles',
    label: 'Roles',
    noun: 'role',
    plural: 'roles',
    collection: 'roles',
    type: 'role',
    fields: '',
    hint: 'A role is a set of policies that people and teams have.',
  },
  {
    path: 'policies',
    label: 'Policies',
    noun: 'policy',
    plural: 'policies',
    collection: 'policies',
    type: 'policy',
    fields: '',
    hint: 'A policy is a list of rules: who may do what with which assets.',
  },
];

/** Where a type of governance is shown: `glossaries` of a glossary term. */
export const partOf: Readonly<Record<string, string>> = {
  ...Object.fromEntries(kinds.map(({ type, path }) => [type, path])),
  glossaryTerm: 'glossaries',
  tag: 'classifications',
};

/** Return the address of a thing within governance. */
export const placeIn = ({ type, fullyQualifiedName }: { type: string; fullyQualifiedName: string }): string =>
  `/governance/${partOf[type] ?? 'domains'}/${encodeURIComponent(fullyQualifiedName)}`;

/** Return the type of what an address of a part names: below a glossary lie terms, below a classification tags. */
export function typeAt(kind: Kind, fullName: string): string {
  const isRoot = stepsOf(fullName).length === 1;
  return isRoot ? kind.type : (typeWithin(kind.type) ?? kind.type);
}
