"""Following in a real browser: a follow with kinds tells of these alone; many follows at once, counted first."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from tests.browser.logged_in import alice_at
from tests.contract.test_follows import describe
from tests.entries import entry_of
from tests.notifying import notify_all
from tests.serving import Served, table, warehouse

from tocsin.model.follow_review import NOISY_FROM
from tocsin.store.catalogue.search.writes import SearchWrites

pytestmark = pytest.mark.browser


def test_a_follow_with_kinds_rings_the_bell_for_these_alone(served: Served, page: Page, sqlite_engine: Engine) -> None:
    with served.administrator() as client:
        orders = warehouse(client)
    user_id = alice_at(served, page, "/table/warehouse.shop.public.orders")
    page.get_by_role("button", name="Follow", exact=True).click()
    page.get_by_role("button", name="Kinds and channels").click()
    choices = page.get_by_role("dialog", name="What this follow tells of")
    choices.get_by_text("Each kind by itself").click()
    choices.get_by_label("Descriptions").select_option("immediate")
    choices.get_by_label("Everything else").select_option("never")
    expect(page.get_by_role("button", name="Following")).to_contain_text("2 choices")
    with served.administrator() as client:
        columns = [{"op": "remove", "path": "/columns/0"}]
        headers = {"Content-Type": "application/json-patch+json"}
        assert client.patch(f"/tables/{orders['id']}", json=columns, headers=headers).is_success
        notify_all(sqlite_engine)
        describe(client, orders, "One row per order.")
        notify_all(sqlite_engine)
        (notification,) = client.get(f"/users/{user_id}/notifications").json()["data"]
    assert "One row per order." in str(notification)
    bell = page.get_by_role("button", name="Notifications")
    expect(bell).to_have_accessible_name("Notifications, 1 unread")

    page.goto("/following")
    row = page.get_by_role("row").filter(has_text="warehouse / shop / public")
    expect(row).to_contain_text("description")
    expect(row).to_contain_text("bell at once")
    expect(row.get_by_role("link", name="1 notifications of orders, 1 of them in 30 days")).to_be_visible()
    row.get_by_role("button", name="Change orders").click()
    page.get_by_role("menuitem", name="Kinds and channels…").click()
    dialog = page.get_by_role("dialog", name="Kinds and rhythm of orders")
    expect(dialog.get_by_label("Descriptions")).to_have_value("immediate")
    dialog.get_by_label("Test failures").select_option("daily")
    dialog.get_by_role("button", name="Save for orders").click()
    expect(row).to_contain_text("bell daily")
    page.get_by_role("button", name="Undo").click()
    expect(row).not_to_contain_text("bell daily")


def test_what_a_search_finds_is_followed_after_a_count_and_what_is_noisy_ends_with_its_saving(
    served: Served, page: Page, sqlite_engine: Engine
) -> None:
    with served.administrator() as client:
        orders = warehouse(client)
        customers = table(client, "customers")
    SearchWrites(sqlite_engine).put([entry_of("table", orders), entry_of("table", customers)])
    user_id = alice_at(served, page, "/following")
    page.get_by_role("button", name="Follow", exact=True).click()
    page.get_by_role("menuitem", name="All that a search finds…").click()
    dialog = page.get_by_role("dialog", name="Follow what a search finds")
    dialog.get_by_label("Search").fill("(orders")
    expect(dialog.get_by_text("this bracket is not closed")).to_be_visible()
    dialog.get_by_label("Search").fill("service.name:warehouse")
    expect(dialog.get_by_text("2 assets would be followed")).to_be_visible()
    dialog.get_by_role("button", name="Follow 2 assets").click()
    expect(page.get_by_text("2 tables")).to_be_visible()
    with served.administrator() as client:
        assert client.get(f"/users/{user_id}/following").json()["paging"]["total"] == 2
        for number in range(NOISY_FROM):
            describe(client, orders, f"text {number}")
    notify_all(sqlite_engine)
    page.reload()
    expect(page.get_by_text(f"you get {NOISY_FROM} messages a month fewer")).to_be_visible()
    page.get_by_role("button", name="Review 1").click()
    page.get_by_role("button", name=f"Unfollow it: {NOISY_FROM} fewer a month").click()
    expect(page.get_by_text("Nothing to review here.")).to_be_visible()
    with served.administrator() as client:
        (follow,) = client.get(f"/users/{user_id}/following").json()["data"]
    assert follow["asset"]["name"] == "customers"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="orders: failures and breaking changes only")).to_be_visible()
    page.set_viewport_size({"width": 320, "height": 750})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
