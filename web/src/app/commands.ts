// What can be done from the palette without a page: places to go to, and acts.
import Keyboard from '@lucide/svelte/icons/keyboard';
import LogOut from '@lucide/svelte/icons/log-out';
import Moon from '@lucide/svelte/icons/moon';
import Plus from '@lucide/svelte/icons/plus';
import Sun from '@lucide/svelte/icons/sun';
import type { Component } from 'svelte';
import { session } from '../api/session.svelte';
import { overlays } from './overlays.svelte';
import { places } from './places';
import { go } from './router.svelte';
import { theme } from './theme.svelte';

export type Command = { label: string; icon: Component<{ size?: number }>; hint?: string; run: () => void };

export const commands: readonly Command[] = [
  ...places.map(({ label, icon, key, path }) => ({
    label,
    icon: icon as Command['icon'],
    hint: `g ${key}`,
    run: () => go(path),
  })),
  { label: 'Create an alert', icon: Plus, run: () => go('/alerts/new') },
  { label: 'Show the keys', icon: Keyboard, hint: '?', run: () => overlays.show('keys') },
  { label: 'Dark theme', icon: Moon, run: () => theme.choose('dark') },
  { label: 'Light theme', icon: Sun, run: () => theme.choose('light') },
  { label: 'Log out', icon: LogOut, run: () => void session.logOut() },
];

/** Return the commands whose words begin with all that was typed, in their order. */
export function commandsFor(text: string, all = commands): Command[] {
  const typed = text.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter(({ label }) => {
    const words = label.toLowerCase().split(/\s+/);
    return typed.every((part) => words.some((word) => word.startsWith(part)));
  });
}
