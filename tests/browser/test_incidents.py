"""Test of the page of an incident in a real browser: the link in a channel asks to log in, then acknowledges."""

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
    expect(page.locator("#incident")).to_contain_text("acknowledged by alice")
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)
