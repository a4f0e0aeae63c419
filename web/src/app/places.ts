// The places of the rail, in its order, with the key that leads there after `g`.
import Activity from '@lucide/svelte/icons/activity';
import Flag from '@lucide/svelte/icons/flag';
import Gauge from '@lucide/svelte/icons/gauge';
import House from '@lucide/svelte/icons/house';
import Inbox from '@lucide/svelte/icons/inbox';
import Megaphone from '@lucide/svelte/icons/megaphone';
import Search from '@lucide/svelte/icons/search';
import Settings from '@lucide/svelte/icons/settings';
import Shield from '@lucide/svelte/icons/shield';
import Siren from '@lucide/svelte/icons/siren';
import Star from '@lucide/svelte/icons/star';
import type { Component } from 'svelte';

export type RailPlace = {
  path: string;
  label: string;
  icon: Component;
  key: string;
  group: 'mine' | 'work' | 'rest';
};

export const places: readonly RailPlace[] = [
  { path: '/', label: 'Home', icon: House, key: 'h', group: 'mine' },
  { path: '/inbox', label: 'Inbox', icon: Inbox, key: 'i', group: 'mine' },
  { path: '/explore', label: 'Explore', icon: Search, key: 'e', group: 'mine' },
  { path: '/following', label: 'Following', icon: Star, key: 'f', group: 'mine' },
  { path: '/alerts', label: 'Alerts', icon: Siren, key: 'a', group: 'work' },
  { path: '/incidents', label: 'Incidents', icon: Flag, key: 'n', group: 'work' },
  { path: '/changes', label: 'Change requests', icon: Megaphone, key: 'c', group: 'work' },
  { path: '/events', label: 'Events', icon: Activity, key: 'v', group: 'work' },
  { path: '/governance', label: 'Governance', icon: Shield, key: 'o', group: 'work' },
  { path: '/admin', label: 'Administration', icon: Gauge, key: 'd', group: 'rest' },
  { path: '/settings', label: 'Settings', icon: Settings, key: 's', group: 'rest' },
];
