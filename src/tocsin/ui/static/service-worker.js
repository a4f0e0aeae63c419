// The service worker of web push: it shows what the server sends, and opens Tocsin where a message leads.
// The tabs that were open before it was there are its own, too: a click finds them.
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

self.addEventListener('push', (event) => {
  const { title, url, tag } = event.data.json();
  event.waitUntil(self.registration.showNotification(title, { tag, data: { url } }));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data.url));
});

/** Show a page of this server: in a tab that is open, or else in a new one. */
async function open(url) {
  const place = new URL(url, self.location.origin);
  const address = self.location.origin + place.pathname + place.search; // never another site, whatever a message says
  const tabs = await self.clients.matchAll({ type: 'window' });
  const [tab] = tabs;
  if (!tab) return self.clients.openWindow(address);
  await tab.focus();
  return tab.navigate(address);
}
