"""Explore, following and lineage in a real browser: find, follow, save a search, see what a change affects."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from tests.browser.logged_in import alice_at
from tests.entries import entry_of
from tests.serving import Json, Served, table, warehouse

from tocsin.store.catalogue.search.writes import SearchWrites

pytestmark = pytest.mark.browser
NASTY = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


@pytest.fixture
def orders(served: Served, sqlite_engine: Engine) -> Json:
    """The table orders, and customers with a description that attacks; both are found by a search."""
    with served.administrator() as client:
        orders_table = warehouse(client)
        customers = table(client, "customers", description=NASTY)
    SearchWrites(sqlite_engine).put([entry_of("table", orders_table), entry_of("table", customers)])
    return orders_table


def test_an_asset_is_found_by_a_column_followed_by_key_and_listed(served: Served, page: Page, orders: Json) -> None:
    user_id = alice_at(served, page, "/explore")
    search = page.get_by_role("searchbox", name="Search")
    search.fill("emai")
    expect(page.get_by_role("status").filter(has_text="2 assets for")).to_be_visible()
    expect(page.get_by_text("<script>")).to_be_visible()
    assert page.locator("main img").count() == 0
    search.fill("(email")
    expect(page.get_by_text("q: column 1: this bracket is not closed")).to_be_visible()
    search.fill("orde")
    expect(page.get_by_role("link", name="orders")).to_be_visible()
    nobody = page.get_by_role("checkbox", name=re.compile(r"^nobody( \d+)?$"))
    expect(nobody).not_to_be_checked()
    nobody.check()
    assert "owner=-" in page.url
    search.blur()
    page.keyboard.press("j")
    page.keyboard.press("f")
    expect(page.get_by_role("button", name="Following")).to_be_visible()
    with served.administrator() as client:
        (followed_asset,) = client.get(f"/users/{user_id}/following").json()["data"]
    assert followed_asset["asset"]["id"] == orders["id"]

    page.goto("/following")
    row = page.get_by_role("row").filter(has_text="warehouse / shop / public")
    row.get_by_role("button", name="Change orders").click()
    page.get_by_role("menuitem", name="Everything once a day").click()
    expect(row).to_contain_text("daily")
    page.get_by_label("Choose orders").check()
    page.get_by_role("button", name="Unfollow orders").click()
    expect(page.get_by_text("You follow nothing yet.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(row).to_contain_text("daily")


def test_a_search_is_saved_and_followed_unless_it_means_something_else_each_day(
    served: Served, page: Page, orders: Json
) -> None:
    user_id = alice_at(served, page, "/explore?q=orders&owner=-")
    page.get_by_role("button", name="Follow this search").click()
    expect(page.get_by_text("This search cannot be saved.")).to_be_visible()
    page.goto("/explore?q=orders&type=table")
    page.get_by_role("button", name="Follow this search").click()
    page.get_by_label("Name", exact=True).fill(NASTY)
    page.locator("form").get_by_role("button", name="Follow this search").click()
    saved_search = page.get_by_role("region", name="Saved searches")
    expect(saved_search.get_by_role("link")).to_have_text(NASTY)
    with served.administrator() as client:
        (search,) = client.get(f"/users/{user_id}/searches").json()["data"]
    assert (search["query"], search["follows"]) == ('(orders) type:("table")', True)
    saved_search.get_by_role("link").click()
    expect(page.get_by_role("link", name="orders")).to_be_visible()
    expect(page).not_to_have_title("owned")


def test_the_lineage_shows_what_reads_a_column_whose_it_is_and_who_would_hear_of_it(
    served: Served, page: Page, orders: Json
) -> None:
    with served.administrator() as client:
        export = table(client, "partner_export")
        column_edge = {"fromColumns": [f"{orders['fullyQualifiedName']}.email"]}
        details = {"columnsLineage": [{**column_edge, "toColumn": f"{export['fullyQualifiedName']}.email"}]}
        ends = {"fromEntity": {"id": orders["id"], "type": "table"}, "toEntity": {"id": export["id"], "type": "table"}}
        assert client.put("/lineage", json={"edge": {**ends, "lineageDetails": details}}).status_code == 200
    alice_id = alice_at(served, page, "/table/warehouse.shop.public.orders/lineage?column=email")
    expect(page.locator(".svelte-flow__node").filter(has_text="partner_export")).to_contain_text("nobody told")
    people = page.get_by_role("complementary", name="Who owns what reads it")
    expect(people).to_contain_text("no owner: nobody told")
    page.get_by_role("button", name="Table").click()
    expect(page.get_by_role("row").filter(has_text="partner_export")).to_contain_text("email")
    page.get_by_label("Column").select_option("id")
    expect(people).to_contain_text("Nothing below reads it")
    expect(page.get_by_role("row").filter(has_text="partner_export")).to_have_count(0)
    page.get_by_label("Column").select_option("email")
    expect(people).to_contain_text("Those who may edit orders can announce the removal.")
    with served.administrator() as client:
        patch = [{"op": "add", "path": "/owners", "value": [{"id": alice_id, "type": "user"}]}]
        headers = {"Content-Type": "application/json-patch+json"}
        assert client.patch(f"/tables/{orders['id']}", json=patch, headers=headers).is_success
    page.reload()
    people.get_by_role("button", name="Announce the removal").click()
    expect(page).to_have_url(
        f"{served.url}/changes/new?type=table&asset=warehouse.shop.public.orders&kind=removal&column=email"
    )
