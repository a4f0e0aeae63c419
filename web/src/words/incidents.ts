// Incidents as people say them: severities, reasons and durations.
export const severityWords: Readonly<Record<string, string>> = {
  Severity1: 'critical',
  Severity2: 'high',
  Severity3: 'medium',
  Severity4: 'low',
  Severity5: 'minor',
};

export const reasonWords = {
  FalsePositive: 'The test was wrong',
  MissingData: 'Data were missing',
  Duplicates: 'Data were there twice',
  OutOfBounds: 'Values were out of bounds',
  Other: 'Another reason',
} as const;
export type ResolveReason = keyof typeof reasonWords;

/** Return how long something lasted: `19 min`, `2 h 50`, `3 days`. */
export function lastedOf(fromMs: number, toMs: number): string {
  const minutes = Math.max(0, Math.round((toMs - fromMs) / 60_000));
  if (minutes < 1) return 'under 1 min';
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) {
    const rest = minutes % 60;
    return `${Math.floor(minutes / 60)} h${rest ? ` ${String(rest).padStart(2, '0')}` : ''}`;
  }
  return `${Math.round(minutes / 1_440)} days`;
}

/** Return the table of a test's link `<#E::table::shop.orders::columns::id>`. */
export function tableOfLink(link: string): { type: string; fullyQualifiedName: string } | null {
  const [, type, fullyQualifiedName] = link.replace(/^<#E|>$/g, '').split('::');
  return type && fullyQualifiedName ? { type, fullyQualifiedName } : null;
}

type Counted = { openedAt: number; resolvedAt: number | null; entity: { id: string } };
const DAYS = 30;

/** Return how many incidents began on each of the last 30 days, and whether one of them is still open. */
export function openedByDay(incidents: readonly Counted[], nowMs: number) {
  const days = Array.from({ length: DAYS }, (_day, index) => {
    const day = new Date(nowMs);
    day.setHours(0, 0, 0, 0);
    day.setDate(day.getDate() - (DAYS - 1 - index));
    return { dayMs: day.getTime(), count: 0, hasOpen: false };
  });
  for (const { openedAt, resolvedAt } of incidents) {
    const day = days.findLast(({ dayMs }) => dayMs <= openedAt);
    if (!day) continue;
    day.count++;
    day.hasOpen ||= resolvedAt === null;
  }
  return days;
}

/** Return the middle of some numbers; 0 of none. */
export function medianOf(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle]! : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** Return what failed more than once, most often first, with its newest incident. */
export function repeatersOf<One extends Counted>(incidents: readonly One[]) {
  const byEntity = new Map<string, One[]>();
  for (const incident of incidents)
    byEntity.set(incident.entity.id, [...(byEntity.get(incident.entity.id) ?? []), incident]);
  return [...byEntity.values()]
    .filter((list) => list.length > 1)
    .map((list) => ({ incident: list[0]!, count: list.length }))
    .toSorted((a, b) => b.count - a.count)
    .slice(0, 5);
}

type TimelineStep = { kind: string; timestamp: number; says: string; comment?: string };
const tones: Readonly<Record<string, 'good' | 'bad' | 'said'>> = {
  opened: 'bad',
  recovered: 'good',
  resolved: 'good',
  acknowledged: 'said',
};

/** Return a step of a timeline as a moment: what the server says of it, with its colour. */
export const momentOf = ({ kind, timestamp, says }: TimelineStep) => ({
  atMs: timestamp,
  text: says.charAt(0).toUpperCase() + says.slice(1),
  tone: tones[kind] ?? ('plain' as const),
});
