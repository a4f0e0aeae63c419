"""Events in a browser: found, filtered, opened with their explanation, and new ones wait behind a click."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from tests.browser.logged_in import log_in
from tests.serving import Served, table, warehouse

from tocsin.server.bootstrap import ADMINISTRATOR

pytestmark = pytest.mark.browser


def test_a_change_is_found_explained_and_a_newer_one_waits_for_the_click(served: Served, page: Page) -> None:
    with served.administrator() as client:
        warehouse(client)
        returns = table(client, "returns", description="Sent back.")
        log_in(page, ADMINISTRATOR["email"], served.password)
        page.goto("/events?view=each&q=returns")
        page.get_by_role("link", name="returns created").click()
        pane = page.get_by_role("complementary", name="The event", exact=True)
        expect(pane.get_by_role("heading", level=2)).to_contain_text("returns")
        expect(pane.get_by_role("list", name="From the change to the message")).to_contain_text("recorded")
        pane.get_by_role("button", name="As JSON").click()
        expect(pane.get_by_label("The event as JSON", exact=True)).to_contain_text("entityCreated")
        pane.get_by_role("button", name="Close the event").click()
        expect(pane).to_have_count(0)
        assert page.url.endswith("/events?view=each&q=returns")

        patch = [{"op": "replace", "path": "/description", "value": "<img src=x> sent back."}]
        headers = {"Content-Type": "application/json-patch+json"}
        assert client.patch(f"/tables/{returns['id']}", json=patch, headers=headers).is_success
        page.get_by_role("button", name="1 new").click()
        expect(page.get_by_role("link", name="returns description changed")).to_be_visible()
    page.goto("/events")
    page.get_by_role("checkbox", name="table").check()
    expect(page).to_have_url(f"{served.url}/events?type=table")
