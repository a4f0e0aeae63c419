// The pages and their addresses; each is loaded when it is first shown. Assets come last: any type may be one.
import type { Route } from './router.svelte';

const inbox = () => import('../pages/inbox/Inbox.svelte');

export const routes: readonly Route[] = [
  { path: '/', title: 'Home', load: () => import('../pages/home/Home.svelte') },
  { path: '/inbox', title: 'Inbox', load: inbox, stays: true },
  { path: '/inbox/:id', title: 'Inbox', load: inbox, stays: true },
  { path: '/explore', title: 'Explore', load: () => import('../pages/explore/Explore.svelte') },
  { path: '/following', title: 'Following', load: () => import('../pages/following/Following.svelte') },
  { path: '/searches/:id', title: 'Explore', load: () => import('../pages/explore/SharedSearch.svelte') },
  { path: '/alerts', title: 'Alerts', load: () => import('../pages/alerts/Alerts.svelte') },
  { path: '/incidents', title: 'Incidents', load: () => import('../pages/incidents/Incidents.svelte') },
  { path: '/incidents/:number', title: 'Incident', load: () => import('../pages/incidents/Incident.svelte') },
  { path: '/settings', title: 'Settings', load: () => import('../pages/settings/Settings.svelte') },
  { path: '/settings/:page', title: 'Settings', load: () => import('../pages/settings/Settings.svelte') },
  { path: '/events', title: 'Events', load: () => import('../pages/events/Events.svelte') },
  { path: '/events/sql', title: 'SQL over the events', load: () => import('../pages/events/Sql.svelte') },
  { path: '/events/:id', title: 'Event', load: () => import('../pages/events/Events.svelte') },
  { path: '/governance', title: 'Governance', load: () => import('../pages/governance/Governance.svelte') },
  {
    path: '/governance/:part',
    title: 'Governance',
    load: () => import('../pages/governance/Governance.svelte'),
  },
  {
    path: '/governance/:part/:fqn',
    title: 'Governance',
    load: () => import('../pages/governance/Governance.svelte'),
  },
  { path: '/admin', title: 'Administration', load: () => import('../pages/admin/Admin.svelte') },
  { path: '/admin/:part', title: 'Administration', load: () => import('../pages/admin/Admin.svelte') },
  { path: '/changes', title: 'Change requests', load: () => import('../pages/changes/Changes.svelte') },
  {
    path: '/changes/new',
    title: 'Announce a change',
    load: () => import('../pages/changes/NewChange.svelte'),
  },
  { path: '/changes/:number', title: 'Change request', load: () => import('../pages/changes/Change.svelte') },
  { path: '/alerts/new', title: 'New alert', load: () => import('../pages/alerts/builder/Builder.svelte') },
  {
    path: '/alerts/templates',
    title: 'Templates',
    load: () => import('../pages/alerts/templates/Templates.svelte'),
  },
  {
    path: '/alerts/:name/edit',
    title: 'Edit alert',
    load: () => import('../pages/alerts/builder/Builder.svelte'),
  },
  { path: '/alerts/:name', title: 'Alert', load: () => import('../pages/alerts/alert/Alert.svelte') },
  { path: '/alerts/:name/:tab', title: 'Alert', load: () => import('../pages/alerts/alert/Alert.svelte') },
  { path: '/components', title: 'Components', load: () => import('../pages/components/Components.svelte') },
  { path: '/:type/:fqn', title: 'Asset', load: () => import('../pages/asset/Asset.svelte') },
  { path: '/:type/:fqn/:tab', title: 'Asset', load: () => import('../pages/asset/Asset.svelte') },
  { path: '/:type/:fqn/:tab/:range', title: 'Asset', load: () => import('../pages/asset/Asset.svelte') },
];
