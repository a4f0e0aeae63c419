// Trees of governance, where things of it lie, and the words of rules.
import { describe, expect, it } from 'vitest';
import { kinds, placeIn, typeAt } from '../src/pages/governance/kinds';
import { answerOf, sentenceOf } from '../src/pages/governance/rules';
import { holds, sizeOf, treeOf, type Node } from '../src/pages/governance/tree';

const node = (fullyQualifiedName: string): Node => ({
  id: fullyQualifiedName,
  type: 'glossaryTerm',
  name: fullyQualifiedName,
  fullyQualifiedName,
});

describe('trees', () => {
  it('put each node below the one whose name it continues, whatever dots a quoted step has', () => {
    const tree = treeOf(['Sales."v1.0"', 'Sales."v1.0".Net', 'Sales.v1', 'Sales."v1.0".Net.Day'].map(node));
    expect(tree.map(({ name }) => name)).toEqual(['Sales."v1.0"', 'Sales.v1']);
    expect(tree[0]?.children?.[0]?.children?.[0]?.name).toBe('Sales."v1.0".Net.Day');
    expect(sizeOf(tree)).toBe(4);
    expect(holds(tree[0]!, 'Sales."v1.0".Net.Day')).toBe(true);
    expect(holds(tree[1]!, 'Sales."v1.0".Net')).toBe(false);
  });
  it('show a node without its parent at the top, so that nothing is lost', () => {
    expect(treeOf([node('Sales.Hidden.Net')]).map(({ name }) => name)).toEqual(['Sales.Hidden.Net']);
  });
});

describe('places', () => {
  it('lead to the part of a type, and back to the type', () => {
    const glossaries = kinds.find(({ path }) => path === 'glossaries')!;
    const domains = kinds.find(({ path }) => path === 'domains')!;
    expect(placeIn({ type: 'glossaryTerm', fullyQualifiedName: 'Sales.Net a/b' })).toBe(
      '/governance/glossaries/Sales.Net%20a%2Fb',
    );
    expect(typeAt(glossaries, 'Sales')).toBe('glossary');
    expect(typeAt(glossaries, '"Sales.eu"')).toBe('glossary');
    expect(typeAt(glossaries, 'Sales.Net')).toBe('glossaryTerm');
    expect(typeAt(domains, 'Shop.Carts')).toBe('domain');
  });
});

describe('rules', () => {
  it('are sentences', () => {
    expect(sentenceOf({ operations: ['EditTags', 'ViewAll'], resources: ['table', 'mlmodel'] })).toBe(
      'edit tags, view all of table, ML model',
    );
    expect(sentenceOf({ operations: ['All'], resources: ['All'] })).toBe('all of everything');
  });
  it('answer yes, no, and "it depends"', () => {
    const answer = (access: 'allow' | 'deny' | 'notAllow' | 'conditionalAllow') =>
      answerOf({ operation: 'EditOwners', access }, 'Aiko', 'orders');
    expect(answer('allow')).toBe('Yes: Aiko may edit owners of orders.');
    expect(answer('deny')).toBe('No: a rule forbids Aiko to edit owners of orders.');
    expect(answer('notAllow')).toBe('No: no rule allows Aiko to edit owners of orders.');
    expect(answer('conditionalAllow')).toMatch(/^Of some/);
  });
});
