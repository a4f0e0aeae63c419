"""Tests of the web page in a real browser: log in, find an asset, follow it, receive a notification."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from tests.browser.stories import alice, log_in, tell
from tests.entries import entry_of
from tests.notifying import notify_all
from tests.serving import Json, Served, table, warehouse

from tocsin.store.catalogue.search.writes import SearchWrites

__all__ = ["alice", "log_in"]

pytestmark = pytest.mark.browser

NASTY = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


@pytest.fixture
def orders(served: Served) -> Json:
    with served.administrator() as client:
        orders_table = warehouse(client)
        table(client, "customers", description=NASTY)
    return orders_table


def test_an_asset_is_found_by_the_words_of_its_columns(
    served: Served, page: Page, orders: Json, sqlite_engine: Engine
) -> None:
    SearchWrites(sqlite_engine).put([entry_of("table", orders)])
    alice(served, page)
    page.get_by_label("Find an asset").fill("email")
    expect(page.get_by_text("1 found")).to_be_visible()
    page.get_by_role("link", name="orders").click()
    expect(page.get_by_role("heading", name="orders")).to_be_visible()
    page.goto(served.url)
    page.get_by_label("Find an asset").fill("(email")
    expect(page.get_by_role("status")).to_have_text("q: column 1: this bracket is not closed")


def test_only_a_last_bare_word_may_be_unfinished(served: Served, page: Page, orders: Json) -> None:
    alice(served, page)
    for typed, query in (
        ("orde", "orde*"),
        ("owner:alice orde", "owner:alice orde*"),
        ("tag:PII.Sensitive", "tag:PII.Sensitive"),
        ("updatedAt:>=1760000000000", "updatedAt:>=1760000000000"),
        ("_exists_:schemaDefinition", "_exists_:schemaDefinition"),
        ("service.name:(bi OR airflow", "service.name:(bi OR airflow"),
    ):
        with page.expect_request(lambda sent: "/search/query" in sent.url) as sent:
            page.get_by_label("Find an asset").fill(typed)
        assert parse_qs(urlsplit(sent.value.url).query)["q"] == [query]


def test_preferences_are_set_below_the_notifications(served: Served, page: Page) -> None:
    user_id = alice(served, page)
    page.get_by_role("button", name="Notifications").click()
    page.get_by_text("Mails and direct messages").click()
    page.get_by_label("Quiet from").fill("20:00")
    page.get_by_label("Quiet until").fill("08:00")
    page.get_by_label("Time zone").fill("Europe/Berln")
    page.get_by_label("Descriptions").select_option("once a day")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("unknown time zone 'Europe/Berln'")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Your preferences are saved.")
    with served.administrator() as client:
        assert client.get(f"/users/{user_id}/preferences").json() == {
            "timezone": "Europe/Berlin",
            "quietHours": {"start": "20:00", "end": "08:00"},
            "digestAt": "09:00",
            "digestDay": "monday",
            "kinds": {},
            "roles": {},
            "categories": {"description": "daily"},
        }
    page.get_by_role("button", name="Notifications").click()
    page.get_by_role("button", name="Notifications").click()
    page.get_by_text("Mails and direct messages").click()
    expect(page.get_by_label("Quiet from")).to_have_value("20:00")
    expect(page.get_by_label("Descriptions")).to_have_value("daily")
    page.set_viewport_size({"width": 380, "height": 750})
    assert page.evaluate("document.documentElement.scrollWidth") <= 380


def describe_for(served: Served, engine: Engine, user_id: str, asset: Json, text: str) -> None:
    """Describe an asset that the user owns, and notify them by an alert of theirs with a rule."""
    rule = {"name": "described", "effect": "include", "condition": "fieldChanged == 'description' && !isBot()"}
    owners = {"category": "Owners", "type": "ActivityFeed"}
    owner_references = [{"id": user_id, "type": "user"}]
    alert = {"name": "Described", "alertType": "Notification", "destinations": [owners], "owners": owner_references}
    with served.administrator() as client:
        filtering = {"resources": ["table"], "rules": [rule]}
        assert client.post("/events/subscriptions", json={**alert, "filteringRules": filtering}).status_code == 201
        for operation in (
            {"op": "add", "path": "/owners", "value": owner_references},
            {"op": "add", "path": "/description", "value": text},
        ):
            answer = client.patch(
                f"/tables/{asset['id']}",
                json=[operation],
                headers={"Content-Type": "application/json-patch+json"},
            )
            assert answer.status_code == 200
    notify_all(engine)


def test_why_somebody_was_notified_is_shown_rule_by_rule(
    served: Served, page: Page, orders: Json, sqlite_engine: Engine
) -> None:
    user_id = alice(served, page)
    describe_for(served, sqlite_engine, user_id, orders, NASTY)
    page.get_by_role("button", name="Notifications").click()
    entry = page.locator("#notifications > li").filter(has_text="description").first
    entry.get_by_text("Why did I get this?").click()
    expect(entry.locator(".answer")).to_contain_text("Yes: you were notified in the app")
    alert = entry.locator(".tree > li").filter(has_text="alert Described matched")
    expect(alert.get_by_label("holds", exact=True).first).to_have_text("✓")
    expect(alert).to_contain_text("the alert's resources (table) include table")
    rule = alert.locator("li").filter(has_text="rule described (include)")
    expect(rule).to_contain_text("fieldChanged == 'description'")
    expect(rule).to_contain_text("fieldChanged is description")
    expect(alert.locator("li").filter(has_text="alice by ActivityFeed")).to_contain_text("you own it (alert Described)")
    expect(entry).to_contain_text("Alerts and relations as of now")
    expect(page).to_have_title("Tocsin")


def test_what_people_write_stays_text(served: Served, page: Page, orders: Json, sqlite_engine: Engine) -> None:
    user_id = alice(served, page)
    page.get_by_role("link", name="customers").click()
    expect(page.get_by_text("<script>")).to_be_visible()
    tell(served, sqlite_engine, user_id, NASTY)
    expect(page.locator("#unread")).to_have_text("1")
    page.get_by_role("button", name="Notifications").click()
    expect(page.locator("#notifications")).to_contain_text("<img src=x")
    assert page.locator("#notifications img").count() == 0
    expect(page).to_have_title("Tocsin")


def test_the_page_may_not_run_what_it_did_not_bring(served: Served, page: Page) -> None:
    answer = page.goto("/")
    assert answer is not None
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert page.request.get("/ui/../app.py").status == 404
    assert page.request.get("/spoon/x").status == 404
