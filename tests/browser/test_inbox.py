"""Tests of the inbox in a real browser: what comes waits, marks are equal in all tabs, failures say since when."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from tests.browser.stories import alice
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.serving import Served

pytestmark = pytest.mark.browser

FOLLOWERS = {"category": "Followers", "type": "ActivityFeed"}
NASTY = "<img src=x onerror=\"document.title='owned'\">"


@pytest.fixture
def company(sqlite_engine: Engine) -> SmallCompany:
    """Two tables and a pipeline, with an alert that tells their followers of everything."""
    company = SmallCompany(sqlite_engine)
    company.pipeline("load")
    rules = "fieldChanged == 'description' || pipelineStatus == 'Failed'"
    company.alert("Told", [FOLLOWERS], rules, poll_interval_s=0)
    return company


def follow_all(served: Served, company: SmallCompany, user_id: str) -> None:
    with served.administrator() as client:
        for collection, name in (("tables", "orders"), ("tables", "revenue"), ("pipelines", "load")):
            path = f"/{collection}/{company.ids[name]}/followers/{user_id}"
            assert client.put(path).is_success


def test_what_comes_waits_and_marks_with_undo_are_equal_in_two_tabs(
    served: Served, page: Page, company: SmallCompany
) -> None:
    follow_all(served, company, alice(served, page))
    company.describe("orders", "Every order.", by="dia")
    notify_all(company.engine)
    page.goto("/inbox")
    inbox_rows = page.locator(".cause")
    expect(inbox_rows).to_have_count(1)
    expect(inbox_rows).to_contain_text("orders")
    expect(inbox_rows).to_contain_text("You follow it")
    expect(page.get_by_role("button", name="Changes 1")).to_be_visible()

    company.describe("revenue", NASTY, by="ben")
    notify_all(company.engine)
    page.get_by_role("button", name="1 new").wait_for()
    expect(inbox_rows).to_have_count(1)
    page.get_by_role("button", name="1 new").click()
    expect(inbox_rows).to_have_count(2)

    other_tab = page.context.new_page()
    other_tab.goto("/inbox?tab=all")
    expect(other_tab.locator(".cause")).to_have_count(2)
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="Why you")).to_be_visible()
    expect(other_tab.locator(".cause.read")).to_have_count(1)
    expect(inbox_rows).to_have_count(2)  # what was opened stays where it was
    page.keyboard.press("e")
    expect(inbox_rows).to_have_count(1)
    expect(other_tab.locator(".cause")).to_have_count(1)
    page.keyboard.press("z")
    expect(inbox_rows).to_have_count(2)
    expect(other_tab.locator(".cause")).to_have_count(2)
    assert page.locator("main img").count() == 0
    assert "owned" not in page.title()


def test_rows_are_muted_selected_and_found_by_kind(served: Served, page: Page, company: SmallCompany) -> None:
    user_id = alice(served, page)
    follow_all(served, company, user_id)
    company.describe("orders", "Every order.", by="dia")
    company.describe("revenue", "By day.", by="ben")
    notify_all(company.engine)
    page.goto("/inbox?kind=failures")
    expect(page.get_by_role("heading", name="Nothing of this kind.")).to_be_visible()
    page.get_by_role("button", name="All", exact=True).last.click()
    inbox_rows = page.locator(".cause")
    expect(inbox_rows).to_have_count(2)
    page.keyboard.press("j")
    page.keyboard.press("m")
    page.get_by_text("is muted for a week.").wait_for()
    with served.administrator() as client:
        (mute,) = client.get(f"/users/{user_id}/mutes").json()["data"]
    assert (mute["kind"], mute["until"] - mute["since"] > 6 * 86_400_000) == ("asset", True)
    for row in inbox_rows.all():
        row.hover()
        row.get_by_role("checkbox", name="Select").check()
    page.get_by_role("group", name="Selected rows").get_by_role("button", name="Done").click()
    expect(page.get_by_role("heading", name="Nothing needs you.")).to_be_visible()


def test_a_failure_says_since_when_how_often_and_who_is_on_it(
    served: Served, page: Page, company: SmallCompany
) -> None:
    follow_all(served, company, alice(served, page))
    for _ in range(2):
        company.run("load", "Failed")
    notify_all(company.engine)
    page.goto("/inbox")
    page.locator(".cause a").first.click()
    expect(page.get_by_text("Failing since")).to_be_visible()
    expect(page.get_by_text("2 times in a row")).to_be_visible()
    expect(page.locator("dd", has_text="nobody")).to_be_visible()
    page.get_by_role("button", name="Open INC-1").click()
    expect(page).to_have_url(f"{served.url}/incidents/INC-1")
    expect(page.get_by_role("heading", name="load")).to_be_visible()
