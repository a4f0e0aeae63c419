// The alert that is being written: what people choose, and the request, or the patch, that it becomes.
import type { Alert, AlertRequest, Destination, Operation } from '../../../api/alerts';
import { conditionOfRules, fileOf } from '../../../words/alerts';
import { serverNow } from '../../../words/now';
import { requestOf } from '../../../words/requests';

type Rules = NonNullable<AlertRequest['filteringRules']>['rules'];
type Reference = NonNullable<Alert['notificationTemplate']>;
export type Written = ReturnType<Draft['written']>;
const WEEK_MS = 7 * 86_400_000;
/** The keys of an alert that the form shows, and can empty. */
const EMPTIED = ['severity', 'runbook', 'expires', 'notificationTemplate', 'config', 'displayName'] as const;

/** Return whether a destination says to whom it goes: one to people or an address may not yet. */
function isAddressed({ category, type, config }: Destination): boolean {
  if (!['External', 'Users', 'Teams'].includes(category)) return true;
  const { endpoint, receivers } = (config ?? {}) as { endpoint?: string; receivers?: string[] };
  return category === 'External' && type !== 'Email' ? Boolean(endpoint) : Boolean(receivers?.length);
}

export class Draft {
  name = $state('');
  displayName = $state('');
  description = $state('');
  resources = $state.raw<string[]>(['table']);
  condition = $state('');
  destinations = $state.raw<Destination[]>([{ category: 'Owners', type: 'ActivityFeed' }]);
  trigger = $state.raw<NonNullable<AlertRequest['trigger']>>({ triggerType: 'RealTime' });
  pollInterval = $state(60);
  severity = $state<string>('');
  runbook = $state('');
  expires = $state<number | null>(null);
  owners = $state.raw<string[]>([]);
  template = $state.raw<Reference | null>(null);
  managedIn = $state('');

  #base: Alert | undefined;
  #baseCondition = '';

  /** What it was before anything was written. */
  readonly before: Written;

  /** `author`: who owns a new alert, unless the author names others, by name. */
  constructor(alert?: Alert, author?: string) {
    if (alert) this.#copy(alert);
    else if (author) this.owners = [author];
    this.before = this.written();
  }

  #copy(alert: Alert): void {
    this.#base = alert;
    this.name = alert.name;
    this.displayName = alert.displayName || alert.name;
    this.description = alert.description ?? '';
    this.resources = alert.filteringRules?.resources ?? [];
    this.condition = this.#baseCondition = conditionOfRules(alert.filteringRules?.rules as never);
    this.destinations = alert.destinations;
    this.trigger = alert.trigger ?? { triggerType: 'RealTime' };
    this.pollInterval = alert.pollInterval ?? 60;
    this.severity = alert.severity ?? '';
    this.runbook = alert.runbook ?? '';
    this.expires = alert.expires ?? null;
    this.owners = (alert.owners ?? []).map(({ name }) => name ?? '');
    this.template = alert.notificationTemplate ?? null;
    this.managedIn = fileOf(alert) ?? '';
  }

  /** Return what is written, as it is kept while one is elsewhere. */
  written() {
    const { name, displayName, description, resources, condition, destinations, trigger, pollInterval } =
      this;
    const { severity, runbook, expires, owners, template, managedIn } = this;
    return {
      ...{ name, displayName, description, resources, condition, destinations, trigger, pollInterval },
      ...{ severity, runbook, expires, owners, template, managedIn },
    };
  }

  /** Take what was changed, and kept; what another person changed meanwhile, and this one did not, stays. */
  take(written: Written, before: Written): void {
    const isChanged = ([key, value]: [string, unknown]) =>
      sorted(value) !== sorted(before[key as keyof Written]);
    Object.assign(this, Object.fromEntries(Object.entries(written).filter(isChanged)));
  }

  /** Return the rules: as they were while the condition is the same, else one with the condition. */
  get rules(): Rules {
    const before = this.#base?.filteringRules?.rules;
    if (before && this.condition === this.#baseCondition) return before;
    return this.condition.trim() ? [{ name: 'condition', effect: 'include', condition: this.condition }] : [];
  }

  /** Return what people call it, where that is not its name. */
  get #displayName(): string {
    const said = this.displayName.trim();
    return said === this.name && !this.#base?.displayName ? '' : said;
  }

  get #filteringRules() {
    return { ...this.#base?.filteringRules, resources: this.resources, rules: this.rules };
  }

  get #ownDestinations(): Destination[] {
    return this.destinations.map(({ statusDetails: _status, ...destination }) => {
      void _status;
      return destination;
    });
  }

  get #config(): Record<string, unknown> | undefined {
    const { managedIn: _before, ...rest } = (this.#base?.config ?? {}) as Record<string, unknown>;
    void _before;
    const config = { ...rest, ...(this.managedIn.trim() ? { managedIn: this.managedIn.trim() } : {}) };
    return Object.keys(config).length ? config : undefined;
  }

  /** Return the request; what an existing alert has besides stays. */
  get request(): AlertRequest {
    const base: Partial<AlertRequest> = this.#base ? requestOf(this.#base, { keepsIds: true }) : {};
    const kind = this.resources.some((name) => name === 'testCase') ? 'Observability' : 'Notification';
    const rest: Record<string, unknown> = { ...base };
    for (const key of [...EMPTIED, 'owners', 'pollInterval']) delete rest[key];
    return {
      ...rest,
      name: this.name.trim(),
      alertType: this.#base?.alertType ?? kind,
      description: this.description,
      filteringRules: this.#filteringRules,
      destinations: this.#ownDestinations,
      trigger: this.trigger,
      ...(this.trigger.triggerType === 'Scheduled' ? {} : { pollInterval: this.pollInterval }),
      ...(this.#displayName ? { displayName: this.#displayName } : {}),
      ...(this.severity ? { severity: this.severity } : {}),
      ...(this.runbook.trim() ? { runbook: this.runbook.trim() } : {}),
      ...(this.expires ? { expires: this.expires } : {}),
      ...(this.template ? { notificationTemplate: this.template } : {}),
      ...(this.#config ? { config: this.#config } : {}),
      ...(this.owners.length && !this.#isSameOwners() ? { owners: this.owners } : {}),
    } as AlertRequest;
  }

  /** Return the request as a backtest takes it, without destinations that are still being written; null before. */
  get testable(): AlertRequest | null {
    const destinations = this.#ownDestinations.filter(isAddressed);
    if (!this.resources.length || !this.condition.trim() || !destinations.length) return null;
    return { ...this.request, destinations, name: this.name.trim() || 'NewAlert' };
  }

  /** Return what differs from the alert that is edited: only that is written, so that all else stays as it is. */
  get operations(): Operation[] {
    const base = (this.#base ?? {}) as Record<string, unknown>;
    const { name: _name, alertType: _type, ...request } = this.request as unknown as Record<string, unknown>;
    void [_name, _type];
    request.destinations = this.destinations;
    const isSame = (key: string, value: unknown) => sorted(base[key]) === sorted(value);
    return [
      ...Object.entries(request).flatMap(([key, value]): Operation[] =>
        isSame(key, value) || (key === 'description' && !value && !base[key])
          ? []
          : [{ op: 'add', path: `/${key}`, value: key === 'destinations' ? this.#ownDestinations : value }],
      ),
      ...EMPTIED.filter((key) => base[key] != null && request[key] === undefined).map((key): Operation => ({
        op: 'remove',
        path: `/${key}`,
      })),
      ...(this.#base?.owners?.length && !this.owners.length
        ? [{ op: 'remove' as const, path: '/owners' }]
        : []),
    ];
  }

  /** Return the request to me only, for a week: destinations with an address of their own become the bell. */
  get privateRequest(): AlertRequest {
    const { owners: _owners, ...request } = this.request;
    void _owners;
    const own = request.destinations.filter(
      ({ category, type }) => category !== 'External' && type !== 'Webhook',
    );
    return {
      ...request,
      toMeOnly: true,
      expires: serverNow() + WEEK_MS,
      destinations: own.length ? own : [{ category: 'Owners', type: 'ActivityFeed' }],
    } as AlertRequest;
  }

  #isSameOwners(): boolean {
    return this.owners.join() === (this.#base?.owners ?? []).map(({ name }) => name).join();
  }
}

/** Return a value as text in which the order of keys, and keys without a value, make no difference. */
const sorted = (value: unknown): string =>
  JSON.stringify(value ?? null, (_, one: unknown) =>
    one && typeof one === 'object' && !Array.isArray(one)
      ? Object.fromEntries(
          Object.entries(one)
            .filter(([, each]) => each !== null && each !== undefined)
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      : one,
  );
