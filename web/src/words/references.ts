// References to entities, as the API names them: what they are called and where their pages are.
import { displayNameOf } from '../api/people.svelte';
import { nameOf } from './names';
import { addressOf } from './types';

export type Reference = {
  id: string;
  type: string;
  name?: string | undefined;
  fullyQualifiedName?: string | undefined;
  displayName?: string | undefined;
  description?: string | undefined;
  deleted?: boolean | undefined;
  inherited?: boolean | undefined;
};

/** Return what people call it: its display name, or `Priya Raman` of the person `priya.raman`. */
export function calledOf(reference: Omit<Reference, 'id'>): string {
  const name = reference.displayName || reference.name || nameOf(reference.fullyQualifiedName) || '';
  if (reference.displayName) return name;
  if (reference.type === 'team') return displayNameOf(name, 'team') ?? name;
  return reference.type === 'user' ? personCalled(name) : name;
}

/** Return how a person is called of whom only the log-in name is known; what the server does itself, Tocsin does. */
export const personCalled = (name: string): string =>
  name === 'system' ? 'Tocsin' : (displayNameOf(name) ?? spelledOut(name));
const spelledOut = (name: string): string =>
  /^[a-z]+([.][a-z]+)+$/.test(name)
    ? name
        .split('.')
        .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
        .join(' ')
    : name;

/** Return the address of the page of what is referred to. */
export const addressOfReference = (reference: Omit<Reference, 'id'>): string =>
  addressOf(reference.type, reference.fullyQualifiedName ?? reference.name ?? '');
