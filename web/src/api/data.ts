// What an asset holds: profiles of a table over time, and sample data, as far as one may see them.
import { serverNow } from '../words/now';
import { api, ApiError, dataOf } from './client';
import { collectionOf } from '../words/types';

export type TableProfile = {
  timestamp: number;
  rowCount?: number;
  columnCount?: number;
  sizeInByte?: number;
};
export type ColumnProfile = {
  name: string;
  timestamp: number;
  valuesCount?: number;
  nullCount?: number;
  nullProportion?: number;
  distinctCount?: number;
  uniqueProportion?: number;
  min?: number | string;
  max?: number | string;
  mean?: number;
};
export type Sample = { columns: string[]; rows: unknown[][]; messages: string[]; hidden: string[] };

const DAY_MS = 86_400_000;
/** What the server shows instead of a value that one may not see. */
export const MASK = '********';

/** Return the profiles of a table of the last 30 days, oldest first, and the latest one of each column. */
export async function readProfile(fqn: string) {
  const endTs = serverNow();
  const params = { path: { fqn }, query: { startTs: endTs - 30 * DAY_MS, endTs, limit: 100 } };
  const reading = dataOf(api.GET('/api/v1/tables/{fqn}/tableProfile/latest', { params: { path: { fqn } } }));
  const page = (await dataOf(
    api.GET('/api/v1/tables/{fqn}/tableProfile' as '/api/v1/tables/{fqn}/tableProfile/latest', {
      params: params as never,
    }),
  )) as unknown as { data: TableProfile[] };
  const latest = await reading;
  const columns = (latest as { columns?: { profile?: ColumnProfile }[] }).columns ?? [];
  return {
    tables: page.data.toReversed(),
    columns: columns.flatMap(({ profile }) => (profile ? [profile] : [])),
  };
}

/** Return sample data; columns that one may not see are left out, and named. Null where there is none. */
export async function readSample(type: string, id: string): Promise<Sample | null> {
  const collection = collectionOf(type) as 'tables';
  const params = { path: { entity_id: id } };
  try {
    const answer = await dataOf(api.GET(`/api/v1/${collection}/{entity_id}/sampleData`, { params }));
    return sampleOf((answer as { sampleData?: Partial<Sample> }).sampleData);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** Return sample data without the columns of which every value is masked. */
export function sampleOf(data: Partial<Sample> | null | undefined): Sample | null {
  const { columns = [], rows = [], messages = [] } = data ?? {};
  if (!rows.length && !messages.length) return null;
  const isMasked = (at: number) => rows.length > 0 && rows.every((row) => row[at] === MASK);
  const shown = columns.map((_, at) => at).filter((at) => !isMasked(at));
  return {
    columns: shown.map((at) => columns[at]!),
    rows: rows.map((row) => shown.map((at) => row[at])),
    messages,
    hidden: columns.filter((_, at) => isMasked(at)),
  };
}
