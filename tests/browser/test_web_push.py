"""Web push in a real browser: a person switches it on, a message is shown, and a click opens what it tells of.

Chromium reaches no push service here, so its ``pushManager`` is a stand-in that answers as one would; the service
worker is the real one, and gets its message through the protocol of the browser's developer tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from playwright.sync_api import Browser, Page, Worker, expect
from sqlalchemy import Engine, delete
from tests.browser.stories import alice, tell
from tests.push_reader import push_browser
from tests.serving import Served, running_server, server_settings, warehouse
from tests.startedstore import StartedStore
from tests.unit.delivery.events import dispatch

from tocsin.delivery.channels.push.render import render_push
from tocsin.delivery.dispatch import Dispatch
from tocsin.store.catalogue.people.push_browsers import PushBrowsers
from tocsin.store.database.tables import notification

pytestmark = pytest.mark.browser

_ENDPOINT = "https://push.example.net/send/abc"
_STAND_IN = """
let kept = null;
const subscription = () => ({
  toJSON: () => ({ endpoint: %(endpoint)s, keys: { p256dh: %(p256dh)s, auth: %(auth)s } }),
  unsubscribe: async () => { kept = null; return true; },
});
PushManager.prototype.getSubscription = async () => kept;
PushManager.prototype.subscribe = async () => (kept = subscription());
"""
_PATIENCE_MS = 30_000
_CLICK = """async () => {
  WindowClient.prototype.focus = async function () { return this; };  // asks for a real click, which no test has
  const [notification] = await self.registration.getNotifications();
  self.dispatchEvent(new NotificationEvent('notificationclick', { notification }));
}"""


@pytest.fixture
def push_page(browser: Browser, sqlite_engine: Engine, started_store: StartedStore) -> Iterator[tuple[Served, Page]]:
    """A server that sends push messages, and a tab of a browser that could take them."""
    settings = server_settings(web_push=True)
    with running_server(sqlite_engine, settings, password=started_store.password, token=started_store.token) as server:
        context = browser.new_context(base_url=server.url)
        subscriber = push_browser(_ENDPOINT, generate_private_key(SECP256R1()))
        keys = {name: json.dumps(getattr(subscriber, name)) for name in ("endpoint", "p256dh", "auth")}
        context.add_init_script(_STAND_IN % keys)
        page = context.new_page()
        page.goto("/")
        yield server, page
        context.close()


def test_a_browser_takes_messages_and_a_click_on_one_opens_what_it_tells_of(
    push_page: tuple[Served, Page], sqlite_engine: Engine
) -> None:
    server, page = push_page
    with server.administrator() as client:
        warehouse(client)
    user_id = alice(server, page)
    tell(server, sqlite_engine, user_id, "shipments")
    page.goto("/settings/notifications")
    expect(page.get_by_label("Descriptions: Browser")).to_be_visible()
    switch = page.get_by_role("switch", name="Messages in this browser")
    expect(switch).to_have_attribute("aria-checked", "false")
    page.context.clear_permissions()
    page.evaluate("Notification.requestPermission = async () => 'denied'")
    switch.click()
    expect(page.get_by_role("alert")).to_contain_text("Your browser does not allow messages from here.")
    assert PushBrowsers(sqlite_engine).of([user_id], 0) == {}

    page.context.grant_permissions(["notifications"])
    page.reload()
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "true")
    (push_browser_row,) = PushBrowsers(sqlite_engine).of([user_id], 0)[user_id]
    assert push_browser_row.endpoint == _ENDPOINT

    deliver(page, render_push(newest_of(server, user_id), base_url=server.url))
    (worker,) = page.context.service_workers
    expect_shown(worker, "shipments: 1 change")
    worker.evaluate(_CLICK)
    expect(page.get_by_role("heading", name="shipments").first).to_be_visible()
    assert "/inbox/" in page.url and len(page.context.pages) == 1, "the tab that was open"

    expect(page).not_to_have_url(re.compile("event="))
    with sqlite_engine.begin() as connection:
        connection.execute(delete(notification))
    event_id = newest_of(server, user_id).entries[0].event.id
    deliver(page, render_push(newest_of(server, user_id), base_url=server.url))
    expect_shown(worker, "shipments: 1 change")
    worker.evaluate(_CLICK)
    expect(page).to_have_url(f"{server.url}/events/{event_id}")

    page.goto("/alerts/new")
    channels = page.get_by_label("By which channel").first
    channels.select_option("Push")
    expect(channels).to_have_value("Push")

    page.goto("/settings/notifications")
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "false")
    assert PushBrowsers(sqlite_engine).of([user_id], 0) == {}


def newest_of(server: Served, user_id: str) -> Dispatch:
    """Return a message to a person about the newest event."""
    log = server.app.state.parts.log
    logged_event = log.read(log.readable_end() - 1, 1)[0]
    about_event = dispatch(logged_event.event, target=user_id)
    entries = tuple(replace(entry, log_offset=logged_event.offset) for entry in about_event.entries)
    return replace(about_event, entries=entries)


def deliver(page: Page, payload: bytes) -> None:
    """Let the service worker of a page get a message."""
    tools = page.context.new_cdp_session(page)
    registrations: list[str] = []
    tools.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda update: registrations.extend(one["registrationId"] for one in update["registrations"]),
    )
    tools.send("ServiceWorker.enable")
    page.wait_for_function("navigator.serviceWorker.controller !== null")
    origin = page.evaluate("location.origin")
    tools.send(
        "ServiceWorker.deliverPushMessage",
        {"origin": origin, "registrationId": registrations[-1], "data": payload.decode()},
    )


def expect_shown(worker: Worker, title: str) -> None:
    """Wait until the service worker shows one message; say what it may and has if it does not."""
    display = worker.evaluate(
        """async (patienceMs) => {
          const until = Date.now() + patienceMs;
          let shown = [];
          while (!shown.length && Date.now() < until) {
            await new Promise((go) => setTimeout(go, 50));
            shown = await self.registration.getNotifications();
          }
          const titles = shown.map(({ title }) => title);
          return { titles, permission: Notification.permission, state: self.serviceWorker?.state };
        }""",
        _PATIENCE_MS,
    )
    assert display["titles"] == [title], display
