// Where in a statement an error of SQL lies, as Spark writes it: "(line 2, pos 7)" or "Line 2, column 8".
export type SqlPlace = { before: string; rest: string };

/** Return the line that an error is in, split where it is; null if the error names no place. */
export function placeInSql(error: string, sql: string): SqlPlace | null {
  const spark = /line (\d+),? pos(?:ition)? (\d+)/i.exec(error);
  const ours = /line (\d+), column (\d+)/i.exec(error);
  const match = spark ?? ours;
  if (!match) return null;
  const line = sql.split('\n')[Number(match[1]) - 1];
  if (line === undefined) return null;
  const at = Number(match[2]) - (spark ? 0 : 1); // positions count from 0, columns from 1
  return { before: line.slice(0, at), rest: line.slice(at) || ' ' };
}
