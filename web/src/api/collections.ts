// Collections whose path is only known when a page runs: entities of any type, read, created, patched and deleted.
import { api, dataOf } from './client';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Call = (
  path: string,
  options?: { body?: unknown; headers?: HeadersInit },
) => Promise<{ data?: unknown }>;
const callOf = (method: Method): Call => api[method] as unknown as Call;

export type Page<Row> = { data: Row[]; paging: { after?: string; total?: number } };

/** Return what a path of the API answers; `query` leaves out what is empty. */
export async function read<Wanted>(
  path: string,
  query: Record<string, string | number | boolean | undefined> = {},
): Promise<Wanted> {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(entries.map(([key, value]) => [key, String(value)])).toString();
  return (await dataOf(callOf('GET')(`/api/v1/${path}${text && `?${text}`}`))) as Wanted;
}

const MOST_IN_PAGE = 1000;
/** Return all members of a collection with a word in their names, page by page. */
export async function readNamed<Row extends { name?: string | undefined; displayName?: string | undefined }>(
  path: string,
  word: string,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: string | undefined = ''; after !== undefined;) {
    const page: Page<Row> = await read(path, { limit: MOST_IN_PAGE, after });
    rows.push(...page.data);
    after = page.paging.after;
  }
  const wanted = word.trim().toLowerCase();
  return rows.filter((row) => `${row.name ?? ''} ${row.displayName ?? ''}`.toLowerCase().includes(wanted));
}

/** Write to a path of the API. */
export async function write<Wanted>(
  method: Exclude<Method, 'GET'>,
  path: string,
  body?: unknown,
): Promise<Wanted> {
  const headers = method === 'PATCH' ? { 'Content-Type': 'application/json-patch+json' } : undefined;
  const options = { ...(body === undefined ? {} : { body }), ...(headers ? { headers } : {}) };
  return (await dataOf(callOf(method)(`/api/v1/${path}`, options))) as Wanted;
}
