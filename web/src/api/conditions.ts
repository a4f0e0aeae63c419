// Checks of conditions by the server: errors with their places, warnings, and what it suggests.
import { api, dataOf } from './client';
import type { components } from './schema';

export type ConditionCheck = components['schemas']['ValidatedCondition'];
export type ConditionError = components['schemas']['ConditionError'];

/** Return whether a condition is valid, and where it is not. */
export const check = (condition: string): Promise<ConditionCheck> =>
  dataOf(api.POST('/api/v1/conditions/validate', { body: { condition } }));
