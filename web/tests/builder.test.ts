import { expect, test } from 'vitest';
import type { Alert } from '../src/api/alerts';
import { Draft } from '../src/pages/alerts/builder/draft.svelte';
import { fileOf } from '../src/words/alerts';
import { seenOf } from '../src/words/previews';

const stored = {
  id: 'a',
  name: 'Breaks',
  version: 0.3,
  alertType: 'Notification',
  description: 'Tells.',
  enabled: true,
  severity: 'Severity2',
  runbook: 'Ask Priya.',
  expires: null,
  trigger: { triggerType: 'RealTime', sendResolved: true, repeatInterval: 3600 },
  pollInterval: 60,
  filteringRules: {
    resources: ['table'],
    rules: [{ name: 'columns', effect: 'include', condition: "fieldChanged == 'columns'" }],
  },
  input: { filters: [{ name: 'filterByOwnerName' }] },
  dependsOn: [{ id: 'b', type: 'eventsubscription' }],
  config: { costCentre: 12, managedIn: 'alerts/breaks.yaml' },
  owners: [{ id: 'o', type: 'user', name: 'priya' }],
  destinations: [
    {
      id: 'd',
      category: 'External',
      type: 'Webhook',
      config: { endpoint: 'https://example.com', secretKey: '*********', batchBy: 'all' },
      timeout: 10,
      statusDetails: { status: 'active' },
    },
  ],
} as unknown as Alert;

test('an alert that is opened and not changed writes nothing', () => {
  expect(new Draft(stored).operations).toEqual([]);
  expect(new Draft({ ...stored, displayName: 'Breaking' }).operations).toEqual([]);
  expect(new Draft({ ...stored, owners: [] }).operations).toEqual([]);
});

test('only what was changed is written, so that all else stays', () => {
  const draft = new Draft(stored);
  draft.description = 'Tells more.';
  draft.destinations = [{ ...draft.destinations[0]!, name: 'ops' }];
  const { statusDetails: _status, ...destination } = stored.destinations[0]!;
  void _status;
  expect(draft.operations).toEqual([
    { op: 'add', path: '/description', value: 'Tells more.' },
    { op: 'add', path: '/destinations', value: [{ ...destination, name: 'ops' }] },
  ]);
});

test('what is emptied is removed', () => {
  const draft = new Draft(stored);
  draft.severity = draft.runbook = draft.managedIn = '';
  draft.owners = [];
  expect(draft.operations).toEqual([
    { op: 'add', path: '/config', value: { costCentre: 12 } },
    { op: 'remove', path: '/severity' },
    { op: 'remove', path: '/runbook' },
    { op: 'remove', path: '/owners' },
  ]);
});

test('what is written is kept, and taken again', () => {
  const draft = new Draft();
  draft.name = 'Mine';
  draft.condition = 'breaking()';
  const again = new Draft();
  again.take(JSON.parse(JSON.stringify(draft.written())), JSON.parse(JSON.stringify(draft.before)));
  expect(again.request).toEqual(draft.request);
  expect(fileOf(stored)).toBe('alerts/breaks.yaml');
  expect(fileOf({ config: { managedIn: 7 } as never })).toBeUndefined();
});

test('a draft that is taken again leaves what another person changed meanwhile', () => {
  const draft = new Draft(stored);
  draft.runbook = 'Ask Dana.';
  const newer = {
    ...stored,
    severity: 'Severity1',
    destinations: [{ ...stored.destinations[0]!, statusDetails: { status: 'failed' } }],
  } as unknown as Alert;
  const again = new Draft(newer);
  again.take(draft.written(), draft.before);
  expect(again.operations).toEqual([{ op: 'add', path: '/runbook', value: 'Ask Dana.' }]);
});

test('to me only goes to no address', () => {
  const draft = new Draft();
  draft.destinations = [
    { category: 'External', type: 'Slack', config: { endpoint: 'https://hooks.slack.com/x' } },
  ];
  expect(draft.privateRequest).toMatchObject({
    toMeOnly: true,
    destinations: [{ category: 'Owners', type: 'ActivityFeed' }],
  });
});

const texts = (seen: ReturnType<typeof seenOf>) =>
  seen.lines.map((line) => line.map(({ text }) => text).join(''));

test('a message of Slack is read as Slack shows it', () => {
  const seen = seenOf('Slack', {
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: 'orders: cart_id removed' } },
      {
        type: 'rich_text',
        elements: [
          {
            type: 'rich_text_section',
            elements: [
              { type: 'text', text: 'was: ' },
              { type: 'text', text: 'a <b>', style: { strike: true } },
              { type: 'text', text: '\nnow: b\n' },
            ],
          },
        ],
      },
      {
        type: 'context',
        elements: [{ type: 'mrkdwn', text: '<!date^1764482452^{date}|08:47> &amp; later' }],
      },
      {
        type: 'context',
        elements: [{ type: 'mrkdwn', text: '<https://tocsin.example.org/x|Open in Tocsin>' }],
      },
    ],
  });
  expect(seen.title).toBe('orders: cart_id removed');
  expect(texts(seen)).toEqual(['was: a <b>', 'now: b', '08:47 & later ']);
  expect(seen.lines[0]![1]).toEqual({ text: 'a <b>', style: 'strike' });
  expect(seen.buttons).toEqual(['Open in Tocsin']);
});

test('messages of the other channels are read as well; what is odd is empty, never an error', () => {
  const chat = { textParagraph: { text: '<b>Columns: </b>a<br>now: <u>&lt;i&gt;</u>' } };
  const card = { header: { title: 'T', subtitle: 'path' }, sections: [{ widgets: [chat] }] };
  expect(texts(seenOf('GChat', { cardsV2: [{ card }] }))).toEqual(['path', 'Columns: a', 'now: <i>']);
  expect(seenOf('Email', { subject: 'S', text: 'S\n\none\n' })).toMatchObject({
    title: 'S',
    lines: [[{ text: 'one' }]],
  });
  const linked = seenOf('Email', {
    subject: 'S',
    text: 'S\none\nhttps://tocsin.example.org/#/pipelines/1\n',
  });
  expect([texts(linked), linked.buttons]).toEqual([['one'], ['Open in Tocsin']]);
  for (const channel of ['Slack', 'MsTeams', 'GChat', 'Email', 'ActivityFeed'])
    expect(seenOf(channel, { blocks: 7, cardsV2: [null], attachments: [{}] }).title).toBe('');
});

test('a new alert is owned by its author, unless the author takes that out', () => {
  const draft = new Draft(undefined, 'priya.raman');
  expect(draft.request.owners).toEqual(['priya.raman']);
  expect(draft.before.owners).toEqual(['priya.raman']);
  draft.owners = [];
  expect(draft.request.owners).toBeUndefined();
  expect(new Draft(stored, 'priya.raman').operations).toEqual([]);
});
