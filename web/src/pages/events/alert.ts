// Alerts made of events: the builder's address, filled in with what the event, or the filters of the list, say.
import type { ChangeEvent } from '../../api/events';
import { quoted } from '../../words/conditions/kinds';

const listed = (values: readonly string[]): string =>
  values.length === 1 ? quoted(values[0]!) : `{${values.map(quoted).join(', ')}}`;

/** Return the address of the builder with resources and a condition. */
export function builderAddress(resources: readonly string[], conditions: readonly string[]): string {
  const query = new URLSearchParams();
  if (resources.length) query.set('resources', resources.join(','));
  if (conditions.length) query.set('condition', conditions.join(' && '));
  return `/alerts/new${query.size ? `?${query}` : ''}`;
}

/** Return the builder's address for events like one: of its asset, and of its kind. */
export function alertOfEvent(event: ChangeEvent): string {
  const { entityType, entityFullyQualifiedName: name, eventType, breaking } = event;
  return builderAddress(
    [entityType],
    [
      ...(name ? [`matchAnyEntityFqn(${listed([name])})`] : []),
      breaking ? 'breaking()' : `matchAnyEventType(${listed([eventType])})`,
    ],
  );
}

export type Filters = { type: readonly string[]; by: readonly string[]; effect: readonly string[] };

/** Return the builder's address for what the filters of the list leave. */
export const alertOfFilters = ({ type, by, effect }: Filters): string =>
  builderAddress(type, [
    ...(by.length ? [by.map((name) => `userName == ${quoted(name)}`).join(' || ')].map(grouped(by)) : []),
    ...(effect.includes('breaking') ? ['breaking()'] : []),
  ]);
const grouped =
  (values: readonly string[]) =>
  (text: string): string =>
    values.length > 1 ? `(${text})` : text;
