// Completion of a condition while it is written: fields, functions and the values of what stands before.
import { questions } from './questions';

const FIELDS =
  'eventType entityType entityFullyQualifiedName userName isBot() fieldChanged fieldsAdded fieldsUpdated fieldsDeleted tags owners domains tier service testStatus pipelineStatus testSuites testedEntityFqn changeCategory changeOperation changeTarget unchangedFor previousStatus streak failures isBreaking isAnnounced reason entity.name entity.description';
const FUNCTIONS =
  'breaking() announced() firstFailure() resolved() stillFailing() stillWithoutOwner() user.owns(entity) user.follows(entity) user.isMemberOf( noSuccessFor( stillStale( olderThan( matchAnyEntityFqn( matchAnySchema( matchAnyDatabase( matchAnyTag( matchAnyTier( matchAnyDomain( matchAnyOwnerName( matchAnyService( matchAnyFieldChange( onlyFieldsChanged( matchAnyColumnChange( matchAnyChange( matchAnyEventType( matchTestResult( matchUpdatedBy( matchStatusTransition( matchStatusInARow( oldValue( newValue(';
const WORDS = [...FIELDS.split(' '), ...FUNCTIONS.split(' ')];
const MOST = 8;

export type Completion = { from: number; to: number; words: string[] };

/** Return what may stand at a place of a condition: `tags`, `tier` after `t`; `'Tier.Tier1'` after `tier == `. */
export function completionOf(condition: string, at: number): Completion | null {
  const before = condition.slice(0, at);
  const value = before.match(/([\w.]+)\s*(?:==|!=|\(|\bin\b)\s*[{[]?(?:[^{}[\]()]*,\s*)?('?)([\w. -]*)$/);
  if (value) {
    const words = valuesAfter(value[1]!)
      .filter((word) => word.toLowerCase().startsWith(value[3]!.toLowerCase()))
      .map((word) => `'${word}'`);
    const quoteAfter = condition[at] === "'" ? 1 : 0;
    if (words.length) return { from: at - value[2]!.length - value[3]!.length, to: at + quoteAfter, words };
  }
  if ((before.match(/'/g)?.length ?? 0) % 2) return null; // within a text
  const word = before.match(/[A-Za-z][\w.]*$/)?.[0];
  if (!word) return null;
  const words = WORDS.filter((one) => one.toLowerCase().includes(word.toLowerCase()) && one !== word).sort(
    (a, b) => rank(a, word) - rank(b, word),
  );
  return words.length ? { from: at - word.length, to: at, words: words.slice(0, MOST) } : null;
}

const rank = (candidate: string, word: string): number =>
  candidate.toLowerCase().startsWith(word.toLowerCase()) ? 0 : 1;

function valuesAfter(field: string): string[] {
  const asked = questions.find(
    ({ hasValues, write }) =>
      (hasValues && write(['x']).startsWith(`${field} ==`)) ||
      (hasValues && write(['x']).startsWith(`${field}(`)),
  );
  return (asked?.choices ?? []).map((choice) => choice.value).slice(0, MOST);
}
