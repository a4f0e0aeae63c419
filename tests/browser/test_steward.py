"""A steward's hour on a phone: what needs them, a change answered, a failure taken, tags and an owner, a task done."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect
from sqlalchemy import Engine
from tests.browser.logged_in import log_in
from tests.company import SmallCompany
from tests.entries import entry_of
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.store.catalogue.search.writes import SearchWrites

pytestmark = pytest.mark.browser
PHONE: ViewportSize = {"width": 390, "height": 844}
ORDERS = "pg.store.public.orders"


@pytest.fixture
def company(sqlite_engine: Engine, served: Served) -> SmallCompany:
    """Alice is a steward; she owns a table that reads orders and a pipeline that has failed, and has a task."""
    company = SmallCompany(sqlite_engine)
    with served.administrator() as client:
        role = client.get("/roles/name/DataSteward").json()["id"]
    alice_id, alice = served.person("alice", displayName="Alice Smith", roles=[role])
    alice.close()
    owners: Json = [{"id": alice_id, "type": "user"}]
    company.table("returns", owners=owners)
    company.pipeline("load", owners=owners)
    company.alert(
        "Broken", [{"category": "Owners", "type": "ActivityFeed"}], "pipelineStatus == 'Failed'", poll_interval_s=0
    )
    company.run("load", "Failed")
    notify_all(sqlite_engine)
    edge = {side: {"type": "table", "id": company.ids[name]} for side, name in _EDGE.items()}
    details = {"type": "RequestDescription", "assignees": owners, "suggestion": "Every order of the shop."}
    with served.administrator() as client:
        assert client.put("/lineage", json={"edge": edge}).is_success
        assert client.post("/changes", json=_removal()).status_code == 201
        task = {"about": f"<#E::table::{ORDERS}>", "message": "What is in it?", "type": "Task", "taskDetails": details}
        assert client.post("/feed", json=task).status_code == 201
        pii = client.get("/tags/name/PII.Sensitive").json()
        entries = [entry_of("tag", pii), entry_of("user", client.get(f"/users/{company.ids['ben']}").json())]
    SearchWrites(sqlite_engine).put(entries)
    return company


_EDGE = {"fromEntity": "orders", "toEntity": "returns"}


def _removal() -> Json:
    return {
        "entity": {"type": "table", "fullyQualifiedName": ORDERS},
        "kind": "removal",
        "column": "email",
        "date": (datetime.now(UTC) + timedelta(days=30)).isoformat(),
        "why": "The address belongs to the customer.",
    }


def test_a_steward_has_an_hour_on_a_phone(browser: Browser, served: Served, company: SmallCompany) -> None:
    context = browser.new_context(base_url=served.url, viewport=PHONE, has_touch=True)
    page = context.new_page()
    page.goto("/")
    log_in(page, "alice", "alice-password")
    for title in ("CR-1: Remove email from orders", "INC-1, load"):
        expect(page.get_by_role("link", name=title).first).to_be_visible()

    page.goto("/changes/CR-1")
    page.get_by_role("button", name="We are ready").tap()
    page.get_by_role("button", name="Send the answer").tap()
    expect(page.get_by_text("Your answer is open")).to_have_count(0)
    with served.administrator() as client:
        consumers = client.get("/changes/CR-1/consumers").json()["data"]
    answers = {consumer["entity"]["name"]: consumer["answer"] for consumer in consumers}
    assert (answers["returns"]["answer"], answers["revenue"]) == ("ready", None)

    page.goto("/incidents/INC-1")
    page.get_by_role("button", name="Acknowledge").first.click()
    expect(page.get_by_role("list", name="States").locator("[aria-current]")).to_contain_text("acknowledged")

    _label_orders(page)
    page.goto(f"/table/{ORDERS}/discussion")
    page.get_by_role("button", name="Write the description").click()
    expect(page.get_by_text("The description is written.")).to_be_visible()
    with served.administrator() as client:
        orders = client.get(f"/tables/name/{ORDERS}?fields=owners,tags").json()
    assert [tag["tagFQN"] for tag in orders["tags"]] == ["PII.Sensitive"]
    assert {owner["name"] for owner in orders["owners"]} == {"shop", "ben"}
    assert orders["description"] == "Every order of the shop."
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    context.close()


def _label_orders(page: Page) -> None:
    """Add a tag and a second owner to the table, by touch."""
    page.goto(f"/table/{ORDERS}")
    page.get_by_role("button", name="Change tags, tier and domain").tap()
    page.get_by_role("combobox", name="Tags").fill("sens")
    page.get_by_role("option", name="Sensitive").click()
    page.get_by_role("button", name="Save the tags").tap()
    expect(page.get_by_text("The tags are saved.")).to_be_visible()
    page.get_by_role("button", name="Change the owners").tap()
    page.get_by_role("combobox", name="Owners").fill("ben")
    page.get_by_role("option", name="ben").click()
    page.get_by_role("button", name="Save the owners").tap()
    expect(page.get_by_text("Owned by")).to_be_visible()
