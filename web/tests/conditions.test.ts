import { expect, test } from 'vitest';
import { completionOf } from '../src/words/conditions/completion';
import { conditionOf, formOf, saidOf } from '../src/words/conditions/form';
import { questions } from '../src/words/conditions/questions';

test.each([
  "tier == 'Tier.Tier1'",
  "tier == 'Tier.Tier1' && matchAnyChange('schema', {'remove', 'modify'}, 'columns') && userName != 'ingestion-bot'",
  "breaking() && !announced() && (owners == 'Finance' || tags == {'PII.Sensitive', 'PII.None'})",
  "testStatus == 'Failed' || firstFailure()",
  "tags == 'it''s'",
  "testStatus == 'Failed' || stillFailing() || stillStale('24h')",
  "noSuccessFor('6h') && !matchAnyEntityFqn('shop.sales') && user.owns(entity)",
])('%s is the same after the form', (condition) => expect(conditionOf(formOf(condition)!)).toBe(condition));

test.each([
  [
    "tags.contains('PII.Sensitive') and fieldChanged eq 'columns'",
    "tags == 'PII.Sensitive' && fieldChanged == 'columns'",
  ],
  [
    "pipelineStatus == 'Failed' || pipelineStatus == 'PartialSuccess'",
    "pipelineStatus == {'Failed', 'PartialSuccess'}",
  ],
  ['!(isBreaking == true)', '!breaking()'],
  ["matchAnyTier(['Tier.Tier1'])", "tier == 'Tier.Tier1'"],
])('%s means %s', (condition, same) => expect(conditionOf(formOf(condition)!)).toBe(same));

test.each([
  "entity.name == 'a'",
  "(tier == 'a' && tags == 'b') || breaking()",
  'tier ==',
  "'a' == tier",
  'streak >= 3',
])('%s is no form', (condition) => expect(formOf(condition)).toBeNull());

test('a form is said in words', () => {
  const form = formOf(
    "tier == 'Tier.Tier1' && matchAnyChange('schema', {'remove','modify'}, 'columns') && !isBot()",
  );
  expect(saidOf(form!)).toEqual(['is Tier 1', 'has a column removed or retyped', 'is not changed by a bot']);
});

test('each question is read as it is written, and not by another', () => {
  for (const question of questions) {
    const values = question.hasValues ? ['a', 'b'] : [];
    const row = { question: question.id, isNot: false, values };
    for (const isNot of [false, true]) {
      const form = [[{ ...row, isNot }]];
      expect(formOf(conditionOf(form)), question.id).toEqual(form);
    }
  }
});

test.each([
  ['br', ['breaking()', 'isBreaking']],
  ['tier == ', ["'Tier.Tier1'", "'Tier.Tier2'", "'Tier.Tier3'", "'Tier.Tier4'", "'Tier.Tier5'"]],
  ["fieldChanged == 'desc", ["'description'"]],
])('%s is completed', (text, words) => expect(completionOf(text, text.length)?.words).toEqual(words));

test('within a text nothing is completed', () => expect(completionOf("entity.name == 'ti", 18)).toBeNull());
