"""Tests of incidents in a real browser: their page, which links in channels lead to, and what the bell says of them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from tests.browser.test_page import alice
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.serving import Served

pytestmark = pytest.mark.browser


def test_an_incident_is_acknowledged_after_log_in_by_who_may(served: Served, sqlite_engine: Engine, page: Page) -> None:
    company = SmallCompany(sqlite_engine)
    company.pipeline("load", description="<img src=x>")
    to = {"category": "Owners", "type": "ActivityFeed"}
    company.alert("Broken", [to], "pipelineStatus == 'Failed'", poll_interval_s=0)
    company.run("load", "Failed")
    notify_all(sqlite_engine)
    page.goto(f"{served.url}/#/incidents/INC-1")
    alice_id = alice(served, page)
    expect(page.get_by_role("heading", name="INC-1")).to_be_visible()
    expect(page.locator("#incident")).to_contain_text("load: open")
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.locator("#message")).to_contain_text("Only the assignee of INC-1")
    with served.administrator() as client:
        body = {"assignee": {"type": "user", "id": alice_id}}
        assert client.put("/incidents/INC-1/assign", json=body).is_success
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.locator("#incident")).to_contain_text("load: acknowledged")
    expect(page.locator("#incident")).to_contain_text("Alice Smith acknowledged it")
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)


@pytest.mark.parametrize("is_live", [True, False], ids=["live", "read"])
def test_the_bell_says_since_when_and_how_often_something_fails_and_leads_to_its_incident(
    served: Served, sqlite_engine: Engine, page: Page, *, is_live: bool
) -> None:
    company = SmallCompany(sqlite_engine)
    company.pipeline("load")
    company.alert("Broken", [{"category": "Followers", "type": "ActivityFeed"}], "pipelineStatus == 'Failed'")
    alice_id = alice(served, page)
    with served.administrator() as client:
        assert client.put(f"/pipelines/{company.ids['load']}/followers/{alice_id}").is_success
    for _ in range(2):
        company.run("load", "Failed")
    notify_all(sqlite_engine)
    if not is_live:
        page.reload()
    page.get_by_role("button", name="Notifications").click()
    newest = page.locator("#notifications > li").first
    expect(newest).to_contain_text("failing since")
    expect(newest).to_contain_text("2 times in a row")
    newest.get_by_role("link", name="INC-1").click()
    expect(page.get_by_role("heading", name="INC-1")).to_be_visible()
