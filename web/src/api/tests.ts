// Definitions of tests: what a type of test checks.
import { read, type Page } from './collections';

export type TestDefinition = { id: string; name: string; displayName?: string; description?: string };

/** Return all definitions of tests by their ids. */
export async function readTestDefinitions(): Promise<ReadonlyMap<string, TestDefinition>> {
  const { data } = await read<Page<TestDefinition>>('dataQuality/testDefinitions', { limit: 1000 });
  return new Map(data.map((definition) => [definition.id, definition]));
}
