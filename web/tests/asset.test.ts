// What pages of assets say of an asset: its details, its parts, its sample data, and traces of its columns.
import { describe, expect, it } from 'vitest';
import type { Entity, FeedEntry, Member, Version } from '../src/api/assets';
import { MASK, sampleOf } from '../src/api/data';
import { changesOf, daysOf } from '../src/pages/asset/activity';
import { addressIn, bytesOf, codeOf, detailsOf } from '../src/pages/asset/details';
import { columnOf, labelsOf, linkTo, parseLabels } from '../src/pages/asset/discussion';
import { differencesOf, eventOf } from '../src/pages/asset/differences';
import { placeOf } from '../src/pages/asset/editing';
import { valuesOf } from '../src/pages/asset/values';
import { countedParts, partsOf, tracesOf } from '../src/pages/asset/shape';
import { quoted, stepsOf } from '../src/words/names';
import { entityTypes, pluralOf } from '../src/words/types';

const entity = (more: Record<string, unknown>): Entity => ({ id: 'i', name: 'n', ...more });

describe('details', () => {
  it('are said in words', () => {
    const topic = entity({
      service: {},
      serviceType: 'Kafka',
      partitions: 12,
      retentionTime: 604_800_000,
      cleanupPolicies: ['delete'],
    });
    expect(detailsOf(topic)).toEqual([
      { label: 'Partitions', text: '12', href: undefined },
      { label: 'Kept for', text: '7 days', href: undefined },
      { label: 'Clean-up', text: 'delete', href: undefined },
    ]);
  });
  it('link only what a browser may open', () => {
    const links = detailsOf(
      entity({ sourceUrl: 'https://bi.example.com', dashboardUrl: 'javascript:alert(1)' }),
    );
    expect(links.map(({ href }) => href)[0]).toBe('https://bi.example.com');
    expect(addressIn('javascript:alert(1)')).toBeUndefined();
  });
  it('show code as it is, and sizes in units', () => {
    expect(codeOf(entity({ storedProcedureCode: { code: 'BEGIN;' }, sql: ' ' }))).toEqual([
      { label: 'Code', text: 'BEGIN;' },
    ]);
    expect([bytesOf(0), bytesOf(1536), bytesOf(73_400_320)]).toEqual(['0 bytes', '1.5 kB', '70 MB']);
  });
});

describe('parts', () => {
  it('of an endpoint are what it is asked and what it answers', () => {
    const field = { name: 'id' };
    const endpoint = entity({
      requestSchema: { schemaFields: [field] },
      responseSchema: { schemaFields: [field, field] },
    });
    expect(partsOf('apiEndpoint', endpoint).map(({ path }) => path)).toEqual([
      '/requestSchema/schemaFields',
      '/responseSchema/schemaFields',
    ]);
    expect(countedParts('apiEndpoint', endpoint)).toEqual({ label: 'Fields', count: 3 });
    expect(countedParts('dashboard', endpoint)).toBeNull();
  });
  it('have a plural for every type', () => {
    expect(Object.keys(entityTypes).map(pluralOf)).toContain('search indexes');
    expect(['glossary', 'query', 'apiCollection', 'mlmodel'].map(pluralOf)).toEqual([
      'glossaries',
      'queries',
      'API collections',
      'ML models',
    ]);
  });
  it('with dots in their names are traced by their path', () => {
    const change = { fieldsAdded: [{ name: 'columns', newValue: JSON.stringify([{ name: 'a.b' }]) }] };
    const version = { version: 0.2, atMs: 5, document: { changeDescription: change } } as unknown as Version;
    expect([...tracesOf([version], 0).keys()]).toEqual(['"a.b"']);
    expect(stepsOf(quoted('a."b'))).toEqual(['a."b']);
    expect(quoted('plain')).toBe('plain');
  });
  it('say which change of them breaks readers', () => {
    const updated = (name: string) => ({ name, oldValue: 'VARCHAR', newValue: 'INT' });
    const fieldsUpdated = [updated('columns.a.dataType'), updated('columns.ab.dataType')];
    const document = { changeDescription: { fieldsUpdated } };
    const breaking = [{ field: 'columns.a', kind: 'typeNarrowed', text: '' }];
    const version = { version: 1, atMs: 5, document, breaking } as unknown as Version;
    expect([...tracesOf([version], 0)].map(([name, trace]) => [name, trace.isBreaking])).toEqual([
      ['a', true],
      ['ab', false],
    ]);
  });
});

describe('sample data', () => {
  it('leaves out what one may not see, and names it', () => {
    const rows = [
      [1, MASK],
      [null, MASK],
    ];
    expect(sampleOf({ columns: ['id', 'email'], rows })).toEqual({
      columns: ['id'],
      rows: [[1], [null]],
      messages: [],
      hidden: ['email'],
    });
    expect(sampleOf({ columns: ['id'], rows: [] })).toBeNull();
    expect(sampleOf(undefined)).toBeNull();
  });
});

describe('activity', () => {
  const entry = (title: string, at: number, more: object = {}) =>
    ({
      title,
      breaking: false,
      event: { id: `${at}`, timestamp: at, userName: 'priya', eventType: 'entityUpdated' },
      ...more,
    }) as unknown as FeedEntry;
  it('says once what is said again in a row, unless a reason was given', () => {
    const noon = Date.UTC(2026, 10, 30, 12);
    const days = daysOf([
      entry('passes', noon),
      entry('passes', noon - 1),
      entry('passes', noon - 2, { reason: 'mended' }),
      entry('passes', noon - 86_400_000),
    ]);
    expect(days.map(({ happenings }) => happenings.map(({ again }) => again.length))).toEqual([[1, 0], [0]]);
  });
  it('names each change where the title cannot', () => {
    const two = { semanticChanges: [{ text: 'a changed' }, { text: 'b removed' }] };
    expect(changesOf(entry('x', 1, two))).toEqual(['a changed', 'b removed']);
    expect(changesOf(entry('x', 1, { semanticChanges: [{ text: 'a changed' }] }))).toEqual([]);
  });
});

describe('what is edited', () => {
  const columns = [
    { name: 'a.b' },
    { name: 'shipping', children: [{ name: 'city', tags: [{ tagFQN: 'PII.Low' }] }] },
  ];
  it('is found again by its path, also where columns moved', () => {
    expect(placeOf(columns as Member[], '"a.b"', '/columns')?.pointer).toBe('/columns/0');
    expect(placeOf(columns as Member[], 'shipping.city', '/columns')?.pointer).toBe('/columns/1/children/0');
    expect(placeOf(columns as Member[], 'shipping.gone', '/columns')).toBeNull();
  });
  it('has the tags that a task is about', () => {
    const table = { ...entity({ columns, tags: [{ tagFQN: 'Tier.Tier1' }] }), etag: null };
    const link = linkTo('table', 's.orders', 'shipping.city', 'tags');
    expect(link).toBe('<#E::table::s.orders::columns::shipping.city::tags>');
    expect(columnOf(link)).toBe('shipping.city');
    expect(columnOf(linkTo('table', 's.orders', '', 'tags'))).toBe('');
    expect(labelsOf('table', table, 'shipping.city').map(({ tagFQN }) => tagFQN)).toEqual(['PII.Low']);
    expect(labelsOf('table', table, 'gone')).toEqual([]);
    expect(labelsOf('table', table, '').map(({ tagFQN }) => tagFQN)).toEqual(['Tier.Tier1']);
  });
  it('is not guessed from what another client wrote', () => {
    expect(parseLabels('[{"tagFQN":"PII.Low"}]')).toEqual([{ tagFQN: 'PII.Low' }]);
    expect([parseLabels('[1]'), parseLabels('{'), parseLabels(undefined)]).toEqual([null, null, null]);
  });
});

describe('what is brought back', () => {
  const from = entity({
    owners: [
      { id: 'p', type: 'user', name: 'priya' },
      { id: 't', type: 'team', inherited: true },
    ],
    tags: [
      { tagFQN: 'PII.Low', labelType: 'Manual' },
      { tagFQN: 'A.B', labelType: 'Derived' },
    ],
    columns: [
      { name: 'ship', children: [{ name: 'city', tags: [{ tagFQN: 'PII.Low', labelType: 'Manual' }] }] },
    ],
  });
  const now = entity({ columns: [{ name: 'id' }, { name: 'ship', children: [{ name: 'city', tags: [] }] }] });
  const restored = (change: object) => differencesOf(change, now, from).map(({ restore }) => restore);

  it('are owners and tags as they were, without what comes by itself', () => {
    const list = JSON.stringify([{ id: 'p', type: 'user', name: 'priya' }]);
    expect(restored({ fieldsDeleted: [{ name: 'owners', oldValue: list }] })).toEqual([
      { op: 'add', path: '/owners', value: [{ id: 'p', type: 'user' }] },
    ]);
    expect(restored({ fieldsDeleted: [{ name: 'tags', oldValue: '[]' }] })).toEqual([
      { op: 'add', path: '/tags', value: [{ tagFQN: 'PII.Low', labelType: 'Manual' }] },
    ]);
  });
  it('are parts of nested columns, where they are now', () => {
    expect(
      restored({
        fieldsUpdated: [{ name: 'columns.ship.city.description', oldValue: 'Town.', newValue: 'x' }],
      }),
    ).toEqual([{ op: 'add', path: '/columns/1/children/0/description', value: 'Town.' }]);
    expect(restored({ fieldsDeleted: [{ name: 'columns.ship.city.tags', oldValue: '[]' }] })).toEqual([
      { op: 'add', path: '/columns/1/children/0/tags', value: [{ tagFQN: 'PII.Low', labelType: 'Manual' }] },
    ]);
    expect(restored({ fieldsUpdated: [{ name: 'columns.gone.description', oldValue: 'x' }] })).toEqual([
      null,
    ]);
  });
});

describe('results', () => {
  it('show what was measured, oldest first, failures red', () => {
    const results = [
      { atMs: 2, status: 'Failed', values: { nullCount: 3, other: 0 } },
      { atMs: 1, status: 'Success', values: { nullCount: 0, other: 0 } },
    ];
    expect(
      valuesOf(results).map(({ name, bars }) => [name, bars.map(({ count, tone }) => [count, tone])]),
    ).toEqual([
      [
        'Null count',
        [
          [0, 'muted'],
          [3, 'danger'],
        ],
      ],
    ]);
  });
});

it('a version is told of by the event that made it, not by what happened to it later', () => {
  const event = (id: string, eventType: string, previousVersion: number, currentVersion: number) => ({
    id,
    eventType,
    previousVersion,
    currentVersion,
  });
  const events = [
    event('answer', 'changeRequestAnswered', 2.8, 2.8),
    event('announcement', 'changeRequestUpdated', 2.8, 2.8),
    event('change', 'entityUpdated', 1.8, 2.8),
    event('result', 'entityUpdated', 0.1, 0.1),
    event('creation', 'entityCreated', 0.1, 0.1),
  ];
  expect(eventOf(events, 2.8)?.id).toBe('change');
  expect(eventOf(events, 0.1)?.id).toBe('creation');
  expect(eventOf(events, 3.1)).toBeUndefined();
});

it('is one difference that a column was renamed as announced', () => {
  const column = (name: string) => [{ name, dataType: 'TEXT' }];
  const change = {
    fieldsDeleted: [{ name: 'columns', oldValue: [...column('mail'), ...column('fax')] }],
    fieldsAdded: [{ name: 'columns', newValue: column('email') }],
    breakingReasons: [{ field: 'columns.fax' }],
    renames: [{ field: 'columns.mail', to: 'email', request: 'CR-1' }],
  };
  const rows = differencesOf(change, entity({ columns: column('email') }));
  expect(rows.map(({ part, before, after, isBreaking }) => [part, before, after, isBreaking])).toEqual([
    ['column removed', 'fax TEXT', '', true],
    ['column renamed', 'mail', 'email', false],
  ]);
  const nested = {
    fieldsDeleted: [{ name: 'columns.ship', oldValue: column('town') }],
    fieldsAdded: [{ name: 'columns.ship', newValue: column('city') }],
    renames: [{ field: 'columns.ship.town', to: 'city' }],
  };
  expect(differencesOf(nested, entity({})).map(({ before, after }) => [before, after])).toEqual([
    ['town', 'city'],
  ]);
});
