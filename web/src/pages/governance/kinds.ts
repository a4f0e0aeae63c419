// The kinds of things that governance has: their words, where they lie in the API, and what a row of each shows.
export type Kind = {
  path: string;
  label: string;
  noun: string;
  collection: string;
  type: string;
  fields: string;
  hint: string;
  isMade?: boolean;
};

export const kinds: readonly Kind[] = [
  {
    path: 'domains',
    label: 'Domains',
    noun: 'domain',
    collection: 'domains',
    type: 'domain',
    fields: 'owners',
    hint: 'A domain is a part of the business; what lies in it follows its owners and policies.',
    isMade: true,
  },
  {
    path: 'glossaries',
    label: 'Glossaries',
    noun: 'glossary',
    collection: 'glossaries',
    type: 'glossary',
    fields: 'owners',
    hint: 'A glossary holds the terms of the business, which label assets and columns.',
    isMade: true,
  },
  {
    path: 'classifications',
    label: 'Tags',
    noun: 'classification',
    collection: 'classifications',
    type: 'classification',
    fields: 'owners',
    hint: 'A classification holds tags, such as how sensitive something is.',
    isMade: true,
  },
  {
    path: 'products',
    label: 'Data products',
    noun: 'data product',
    collection: 'dataProducts',
    type: 'dataProduct',
    fields: 'owners',
    hint: 'A data product is what a domain offers to others: assets, with who answers for them.',
  },
  {
    path: 'teams',
    label: 'Teams',
    noun: 'team',
    collection: 'teams',
    type: 'team',
    fields: 'owners,parents',
    hint: 'A team owns assets and is told as one; teams lie in teams.',
  },
  {
    path: 'roles',
    label: 'Roles',
    noun: 'role',
    collection: 'roles',
    type: 'role',
    fields: 'policies',
    hint: 'A role is a set of policies that people and teams have.',
  },
  {
    path: 'policies',
    label: 'Policies',
    noun: 'policy',
    collection: 'policies',
    type: 'policy',
    fields: '',
    hint: 'A policy is a list of rules: who may do what with which assets.',
  },
];

export type Reference = {
  id: string;
  type: string;
  name: string;
  displayName?: string;
  fullyQualifiedName?: string;
};
export type Rule = {
  name: string;
  description?: string;
  effect: 'allow' | 'deny';
  operations: string[];
  resources: string[];
  condition?: string;
};
export type Row = {
  id: string;
  name: string;
  displayName?: string;
  fullyQualifiedName: string;
  description?: string;
  owners?: Reference[];
  policies?: Reference[];
  parents?: Reference[];
  rules?: Rule[];
  disabled?: boolean;
  termCount?: number;
};
