// Values that a field offers while one types: people, teams, tags, domains, services, assets. At most eight.
import type { Choice, Lookup } from '../words/conditions/kinds';
import { dataOf, api } from './client';

const MOST = 8;
type Named = { name?: string | null; displayName?: string | null; fullyQualifiedName?: string | null };
type Page = { data?: Named[] };

const SERVICES = ['databaseServices', 'dashboardServices', 'messagingServices', 'pipelineServices'] as const;

const prefixOf = (text: string) => ({ limit: MOST, ...(text ? { namePrefix: text } : {}) });
const choice = (value: string, label?: string | null): Choice => ({ value, label: label || value });
const byName = (page: Page): Choice[] =>
  (page.data ?? []).map((row) => choice(row.name ?? '', row.displayName ?? row.name));
const byFullName = (page: Page): Choice[] =>
  (page.data ?? []).map((row) => choice(row.fullyQualifiedName ?? ''));

const people = async (text: string): Promise<Choice[]> => {
  const query = prefixOf(text.toLowerCase().replace(/\s+/g, '.'));
  return byName((await dataOf(api.GET('/api/v1/users', { params: { query } }))) as Page);
};
const teams = async (text: string): Promise<Choice[]> =>
  byName((await dataOf(api.GET('/api/v1/teams', { params: { query: prefixOf(text) } }))) as Page);

async function services(text: string): Promise<Choice[]> {
  const pages = await Promise.all(
    SERVICES.map((kind) =>
      dataOf(api.GET(`/api/v1/services/${kind}`, { params: { query: prefixOf(text) } })),
    ),
  );
  return pages.flatMap((page) => byFullName(page as Page)).slice(0, MOST);
}

async function assets(text: string): Promise<Choice[]> {
  if (!text) return [];
  const query = { q: text, size: MOST };
  const answer = (await dataOf(api.GET('/api/v1/search/query', { params: { query } }))) as {
    hits?: { hits?: { _source?: { fullyQualifiedName?: string } }[] };
  };
  return (answer.hits?.hits ?? []).flatMap(({ _source: source }) =>
    source?.fullyQualifiedName ? [choice(source.fullyQualifiedName)] : [],
  );
}

/** Return what begins with a text, or holds it. */
export const lookUps: Readonly<Record<Lookup, (text: string) => Promise<Choice[]>>> = {
  people,
  teams,
  assets,
  services,
  owners: async (text) => [...(await people(text)), ...(await teams(text))].slice(0, MOST),
  tags: async (text) => {
    const query = prefixOf(text.split('.').at(-1) ?? '');
    return byFullName((await dataOf(api.GET('/api/v1/tags', { params: { query } }))) as Page);
  },
  domains: async (text) =>
    byFullName((await dataOf(api.GET('/api/v1/domains', { params: { query: prefixOf(text) } }))) as Page),
};
