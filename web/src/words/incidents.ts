// Incidents as people say them: severities, reasons and durations, what failed and where.
import { stepsOf } from './names';
import { calledOf, type Reference } from './references';
import { capitalized } from './titles';

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

type TimelineStep = { kind: string; timestamp: number; says: string; comment?: string };
const tones: Readonly<Record<string, 'good' | 'bad' | 'said'>> = {
  opened: 'bad',
  recovered: 'good',
  resolved: 'good',
  acknowledged: 'said',
  commented: 'said',
};

/** Return a step of a timeline as a moment: what the server says of it, with its colour. */
export const momentOf = ({ kind, timestamp, says }: TimelineStep) => ({
  atMs: timestamp,
  text: capitalized(says),
  tone: tones[kind] ?? ('plain' as const),
});

const STEPS_OF_TABLE = 4;

/** Return what fails: `orders: total_is_not_negative fails` of a test, `revenue_build: the run failed` of others. */
export function failureTitle(entity: Reference): string {
  if (entity.type !== 'testCase') return `${calledOf(entity)}: the run failed`;
  return `${stepsOf(entity.fullyQualifiedName ?? '')[STEPS_OF_TABLE - 1]}: ${calledOf(entity)} fails`;
}

/** Return where what fails lies: of a test where its table lies. */
export const pathOfFailure = ({ type, fullyQualifiedName = '' }: Reference): string =>
  stepsOf(fullyQualifiedName)
    .slice(0, type === 'testCase' ? STEPS_OF_TABLE - 1 : -1)
    .join(' / ');
