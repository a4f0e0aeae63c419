"""Tests of incidents in a real browser: one that a link leads to is handled by who may, and listed until it is over."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import Engine
from tests.browser.logged_in import log_in
from tests.browser.stories import alice
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.serving import Served

pytestmark = pytest.mark.browser


def test_an_incident_is_handled_after_log_in_by_who_may(served: Served, sqlite_engine: Engine, page: Page) -> None:
    company = SmallCompany(sqlite_engine)
    company.pipeline("load", description="<img src=x>")
    to = {"category": "Owners", "type": "ActivityFeed"}
    company.alert("Broken", [to], "pipelineStatus == 'Failed'", poll_interval_s=0)
    company.run("load", "Failed")
    notify_all(sqlite_engine)
    page.goto(f"{served.url}/#/incidents/INC-1")
    alice_id = alice(served, page)
    expect(page).to_have_url(f"{served.url}/incidents/INC-1")
    expect(page.get_by_role("heading", name="load")).to_be_visible()
    states = page.get_by_role("list", name="States")
    expect(states.locator("[aria-current]")).to_contain_text("new")
    expect(page.get_by_text("nobody yet")).to_be_visible()
    expect(page.get_by_text("Its assignee, and who may edit load, can handle it.")).to_be_visible()
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)

    with served.administrator() as client:
        body = {"assignee": {"type": "user", "id": alice_id}}
        assert client.put("/incidents/INC-1/assign", json=body).is_success
    page.get_by_label("Write about INC-1").fill("looking <b>now</b>")
    page.get_by_role("button", name="Write comment").click()
    timeline = page.get_by_role("list", name="What happened, newest first")
    expect(timeline).to_contain_text("Alice Smith wrote: “looking <b>now</b>”")
    page.get_by_role("button", name="Acknowledge").click()
    expect(timeline).to_contain_text("Alice Smith acknowledged it")
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)

    page.get_by_role("link", name="Incidents").first.click()
    row = page.get_by_role("row").filter(has_text="INC-1")
    expect(row).to_contain_text("Alice Smith")
    row.get_by_role("link", name="INC-1").click()
    page.get_by_role("button", name="Resolve…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").select_option(label="Data were missing")
    dialog.get_by_label("What was it?").fill("the feed was late")
    dialog.get_by_role("button", name="Resolve INC-1").click()
    expect(states.locator("[aria-current]")).to_contain_text("resolved")
    page.goto("/incidents")
    expect(page.get_by_role("heading", name="Nothing fails.")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="INC-1")).to_contain_text("the feed was late")


def test_a_failed_test_goes_from_the_inbox_to_resolved_by_two_people_in_two_tabs(
    served: Served, sqlite_engine: Engine, page: Page, browser: Browser
) -> None:
    company = SmallCompany(sqlite_engine)
    alice_id = alice(served, page)
    bea_id, client = served.person("bea", displayName="Bea Lund")
    client.close()
    owners = [{"id": each, "type": "user"} for each in (alice_id, bea_id)]
    with served.administrator() as client:
        patch = [{"op": "add", "path": "/owners", "value": owners}]
        headers = {"Content-Type": "application/json-patch+json"}
        assert client.patch(f"/tables/{company.ids['orders']}", json=patch, headers=headers).is_success
    company.test_case("orders", "has_rows")
    to = {"category": "Owners", "type": "ActivityFeed"}
    company.alert("Broken", [to], "testStatus == 'Failed'", resources=("testCase",), poll_interval_s=0)
    company.result("orders", "Failed")
    notify_all(sqlite_engine)

    context = browser.new_context(base_url=served.url)
    tab = context.new_page()
    tab.goto("/")
    log_in(tab, "bea", "bea-password")
    for window in (page, tab):
        window.goto("/inbox?tab=all")
        expect(window.get_by_role("heading", name="Needs you")).to_be_visible()
        window.locator(".cause", has_text="has_rows").first.click()
        expect(window.locator("dt", has_text="On it").locator("+ dd")).to_have_text("nobody")

    page.keyboard.press("a")
    expect(page.get_by_text("You are on INC-1.")).to_be_visible()
    expect(tab.locator("dt", has_text="On it").locator("+ dd")).to_have_text("Alice Smith")
    expect(tab.get_by_role("button", name="Acknowledge")).to_have_count(0)

    tab.get_by_role("button", name="Assign to me").click()
    expect(tab.get_by_text("INC-1 is yours.")).to_be_visible()
    page.get_by_role("button", name="Open INC-1").click()
    states = page.get_by_role("list", name="States")
    expect(states.locator("[aria-current]")).to_contain_text("assigned Bea Lund")

    tab.get_by_role("button", name="More for INC-1").click()
    tab.get_by_role("menuitem", name="Resolve it…").click()
    dialog = tab.get_by_role("dialog")
    dialog.get_by_label("What was it?").fill("the feed was late")
    dialog.get_by_role("button", name="Resolve INC-1").click()
    expect(states.locator("[aria-current]")).to_contain_text("resolved")
    page.go_back()
    for window in (page, tab):
        expect(window.get_by_role("heading", name="Needs you")).to_have_count(0)
    context.close()
