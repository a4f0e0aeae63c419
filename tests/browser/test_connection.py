"""Tests of tabs and their server in a real browser: one stream for all tabs, a server that goes and comes back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, Request, expect
from sqlalchemy import Engine
from tests.browser.stories import alice, tell
from tests.serving import Served, running_server, warehouse
from tests.startedstore import StartedStore

pytestmark = pytest.mark.browser
_BACK_MS = 30_000


class OpenStreams:
    """The streams that the tabs of a browser have open: ``all`` that were, ``count`` of those that are."""

    def __init__(self, page: Page) -> None:
        self.all: list[Request] = []
        self._over: set[Request] = set()
        page.context.on("request", self._note)
        page.context.on("requestfinished", self._end)
        page.context.on("requestfailed", self._end)

    def _note(self, request: Request) -> None:
        if "/notifications/stream" in request.url:
            self.all.append(request)

    def _end(self, request: Request) -> None:
        self._over.add(request)

    @property
    def count(self) -> int:
        return len([request for request in self.all if request not in self._over])


def test_the_tabs_of_a_browser_share_one_stream_and_a_new_password_ends_them_all(
    served: Served, page: Page, sqlite_engine: Engine
) -> None:
    with served.administrator() as client:
        warehouse(client)
    streams = OpenStreams(page)
    user_id = alice(served, page)
    first, second, third = page, page.context.new_page(), page.context.new_page()
    for tab in (second, third):
        tab.goto(f"{served.url}/inbox")
        expect(tab.get_by_role("navigation", name="Main")).to_be_visible()
    tell(served, sqlite_engine, user_id, "first")
    expect(first).to_have_title("(1) Home · Tocsin")
    for tab in (second, third):
        expect(tab).to_have_title("(1) Inbox · Tocsin")
    assert (streams.count, len(streams.all)) == (1, 1)
    first.goto("about:blank")
    tell(served, sqlite_engine, user_id, "second")
    for tab in (second, third):
        expect(tab).to_have_title("(2) Inbox · Tocsin")
    assert (streams.count, len(streams.all)) == (1, 2), "the next tab took over"
    with served.client(served.log_in("alice@example.org", "alice-password")) as elsewhere:
        change = {"oldPassword": "alice-password", "newPassword": "another-password"}
        assert elsewhere.put("/users/changePassword", json=change).status_code == 200
    for tab in (second, third):
        expect(tab.get_by_text("Your session has ended.")).to_be_visible()
        expect(tab.get_by_role("navigation", name="Main")).to_be_hidden()
    assert streams.count == 0


def test_a_server_that_goes_and_comes_back_is_said_and_what_concerns_only_oneself_is_done_then(
    browser: Browser, sqlite_engine: Engine, started_store: StartedStore
) -> None:
    with running_server(sqlite_engine, password=started_store.password, token=started_store.token) as server:
        context = browser.new_context(base_url=server.url)
        page = context.new_page()
        page.goto("/inbox")
        with server.administrator() as client:
            warehouse(client)
        user_id = alice(server, page)
        tell(server, sqlite_engine, user_id, "first")
        page.goto("/inbox")
        entry = page.get_by_role("link").filter(has_text="first")
        expect(entry).to_be_visible()
    expect(page.get_by_text("No connection since")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.get_by_text("this waits, and is done by itself").first).to_be_visible()
    expect(page.get_by_text(re.compile(r"\d of your acts waits? and (is|are) sent then"))).to_be_visible()
    expect(entry).to_be_visible()
    port, password = int(server.url.rsplit(":", 1)[-1]), started_store.password
    with running_server(sqlite_engine, password=password, token=started_store.token, port=port) as same_server:
        expect(page.get_by_text("Connected again")).to_be_visible(timeout=_BACK_MS)
        expect(page.get_by_text(re.compile(r"acts? that waited (is|are) done"))).to_be_visible()
        expect(page.get_by_text("No connection since")).to_have_count(0)
        expect(page).to_have_title("Inbox · Tocsin")
        with same_server.client(same_server.log_in("alice@example.org", "alice-password")) as client:
            answer = client.get(f"/users/{user_id}/notifications", params={"tab": "done"})
        assert [entry["title"] for entry in answer.json()["data"]] == ["first: created"]
        context.close()
