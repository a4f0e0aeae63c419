// The alert that is being written: what people choose, and the request that it becomes.
import type { Alert, AlertRequest, Destination } from '../../../api/alerts';
import { conditionOfRules } from '../../../words/alerts';
import { requestOf } from '../../../words/requests';

type Rules = NonNullable<AlertRequest['filteringRules']>['rules'];
const WEEK_MS = 7 * 86_400_000;

export class Draft {
  name = $state('');
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

  #base: Alert | undefined;
  #baseCondition = '';

  constructor(alert?: Alert) {
    if (!alert) return;
    this.#base = alert;
    this.name = alert.name;
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
  }

  /** Return the rules: as they were while the condition is the same, else one with the condition. */
  get rules(): Rules {
    const before = this.#base?.filteringRules?.rules;
    if (before && this.condition === this.#baseCondition) return before;
    return this.condition.trim() ? [{ name: 'condition', effect: 'include', condition: this.condition }] : [];
  }

  /** Return the request; what an existing alert has besides stays. */
  get request(): AlertRequest {
    const base: Partial<AlertRequest> = this.#base ? requestOf(this.#base, { keepsIds: true }) : {};
    const kind = this.resources.some((name) => name === 'testCase') ? 'Observability' : 'Notification';
    const { severity: _severity, runbook: _runbook, expires: _expires, owners: _owners, ...rest } = base;
    void [_severity, _runbook, _expires, _owners];
    return {
      ...rest,
      name: this.name.trim(),
      alertType: this.#base?.alertType ?? kind,
      description: this.description,
      filteringRules: { ...this.#base?.filteringRules, resources: this.resources, rules: this.rules },
      destinations: this.destinations.map(({ statusDetails: _status, ...destination }) => {
        void _status;
        return destination;
      }),
      trigger: this.trigger,
      ...(this.trigger.triggerType === 'Scheduled' ? {} : { pollInterval: this.pollInterval }),
      ...(this.severity ? { severity: this.severity } : {}),
      ...(this.runbook.trim() ? { runbook: this.runbook.trim() } : {}),
      ...(this.expires ? { expires: this.expires } : {}),
      ...(this.owners.length && !this.#isSameOwners() ? { owners: this.owners } : {}),
    } as AlertRequest;
  }

  /** Return the request to me only, for a week: destinations with an address of their own become the bell. */
  get privateRequest(): AlertRequest {
    const { owners: _owners, ...request } = this.request;
    void _owners;
    const own = this.destinations.filter(
      ({ category, type }) => category !== 'External' && type !== 'Webhook',
    );
    return {
      ...request,
      toMeOnly: true,
      expires: Date.now() + WEEK_MS,
      destinations: own.length
        ? request.destinations.filter(({ category }) => category !== 'External')
        : [{ category: 'Owners', type: 'ActivityFeed' }],
    } as AlertRequest;
  }

  #isSameOwners(): boolean {
    return this.owners.join() === (this.#base?.owners ?? []).map(({ name }) => name).join();
  }
}
