"""Tests of the pages of assets in a real browser: follow, edit, compare and bring back, discuss, hostile texts."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from tests.browser.logged_in import log_in
from tests.serving import Json, Served, table, warehouse

pytestmark = pytest.mark.browser

NASTY = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
PATCH = {"Content-Type": "application/json-patch+json"}
ORDERS = "/table/warehouse.shop.public.orders"


@pytest.fixture
def orders(served: Served) -> Json:
    with served.administrator() as client:
        orders_table = warehouse(client)
        table(client, "customers", description=NASTY)
    return orders_table


def alice(served: Served, page: Page) -> None:
    _, client = served.person("alice", displayName="Alice Smith")
    client.close()
    log_in(page, "alice", "alice-password")


def describe(served: Served, asset: Json, text: str) -> None:
    with served.administrator() as client:
        operation = [{"op": "add", "path": "/description", "value": text}]
        assert client.patch(f"/tables/{asset['id']}", json=operation, headers=PATCH).status_code == 200


def test_an_asset_is_followed_and_muted_and_no_longer_by_undo(served: Served, page: Page, orders: Json) -> None:
    alice(served, page)
    page.goto(ORDERS)
    expect(page.get_by_role("heading", name="orders", exact=True)).to_be_visible()
    expect(page.get_by_role("cell", name="VARCHAR").first).to_be_visible()
    follow = page.get_by_role("button", name="Follow", exact=True)
    expect(follow).to_have_attribute("aria-pressed", "false")
    follow.click()
    expect(page.get_by_role("button", name="Following", exact=True)).to_have_attribute("aria-pressed", "true")
    with served.administrator() as client:
        assert [one["name"] for one in client.get(f"/tables/{orders['id']}/followers").json()["data"]] == ["alice"]
    page.get_by_role("button", name="Undo").click()
    expect(follow).to_be_visible()
    with served.administrator() as client:
        assert client.get(f"/tables/{orders['id']}/followers").json()["data"] == []
    page.get_by_role("button", name="Mute", exact=True).click()
    expect(page.get_by_role("menuitem", name="well again")).to_have_count(0)  # nothing fails
    page.get_by_role("menuitem", name="Until something else happens to it").click()
    page.get_by_role("button", name="Muted until something else happens to it").click()
    expect(page.get_by_role("button", name="Mute", exact=True)).to_be_visible()


def test_a_description_is_edited_says_why_and_never_replaces_what_came_meanwhile(
    served: Served, page: Page, orders: Json
) -> None:
    alice(served, page)
    page.goto(ORDERS)
    page.get_by_role("button", name="Write one").or_(page.get_by_role("button", name="Edit the description")).click()
    describe(served, orders, "Of the administrator.")
    page.get_by_label("New description").fill("Of Alice.")
    why = "f\u00fcr Zo\u00eb's <b>audit</b> (50 %)"
    page.get_by_label("Why (optional)").fill(why)
    page.get_by_role("button", name="Save the description").click()
    expect(page.get_by_role("alert")).to_contain_text("Of the administrator.")
    with served.administrator() as client:
        assert client.get(f"/tables/{orders['id']}").json()["description"] == "Of the administrator."
    page.get_by_role("button", name="Keep editing mine").click()
    page.get_by_role("button", name="Save the description").click()
    expect(page.get_by_text("Of Alice.", exact=True).first).to_be_visible()
    page.get_by_label("Parts of this page").get_by_role("link", name="Activity").click()
    expect(page.get_by_text(f"Reason: {why}")).to_be_visible()


def test_versions_are_compared_and_one_brought_back_with_a_reason(served: Served, page: Page, orders: Json) -> None:
    describe(served, orders, "First.")
    describe(served, orders, "Second.")
    log_in(page, "admin", served.password)
    page.goto(f"{ORDERS}/versions")
    differences = page.get_by_role("region", name="Differences")
    expect(differences.locator("del")).to_have_text("First.")
    expect(differences.locator("ins")).to_have_text("Second.")
    dry_run = page.get_by_role("complementary", name="Bring back")
    expect(dry_run).to_contain_text("1 field changes")
    with served.administrator() as client:
        assert client.get(f"/tables/{orders['id']}").json()["description"] == "Second."
    dry_run.get_by_label("Reason, goes into the history").fill("Second was wrong")
    dry_run.get_by_role("button").last.click()
    expect(page.get_by_text("is back.")).to_be_visible()
    with served.administrator() as client:
        assert client.get(f"/tables/{orders['id']}").json()["description"] == "First."


def test_what_people_write_stays_text_and_a_deleted_asset_says_so(served: Served, page: Page, orders: Json) -> None:
    with served.administrator() as client:
        nasty = {"about": "<#E::table::warehouse.shop.public.customers>", "message": NASTY, "type": "Conversation"}
        assert client.post("/feed", json=nasty).status_code == 201
    log_in(page, "admin", served.password)
    page.goto("/table/warehouse.shop.public.customers/discussion")
    expect(page.get_by_role("article")).to_contain_text("<img src=x")
    expect(page.get_by_text("<script>").first).to_be_visible()
    assert page.locator("main img").count() == 0
    expect(page).not_to_have_title("owned")
    with served.administrator() as client:
        customers = client.get("/tables/name/warehouse.shop.public.customers").json()
        assert client.delete(f"/tables/{customers['id']}").status_code == 200
    page.reload()
    expect(page.get_by_text("customers is deleted")).to_be_visible()
    page.get_by_role("button", name="Restore customers").click()
    expect(page.get_by_text("customers is restored.")).to_be_visible()
    with served.administrator() as client:
        schema = client.get("/databaseSchemas/name/warehouse.shop.public").json()
        assert client.delete(f"/databaseSchemas/{schema['id']}?recursive=true").is_success
    page.goto("/databaseSchema/warehouse.shop.public")
    expect(page.get_by_text("What was deleted with public is restored with it.")).to_be_visible()
    page.get_by_role("button", name="Restore public").click()
    expect(page.get_by_text("public is restored, with what was deleted with it.")).to_be_visible()
    expect(page.get_by_text("deleted", exact=True)).to_have_count(0)
    expect(page.get_by_text("customers is deleted")).to_be_hidden()
    _write_about_a_column_and_into_a_property(served, page)


def _write_about_a_column_and_into_a_property(served: Served, page: Page) -> None:
    """Begin a conversation about a column, and change a property of the organisation in place."""
    page.goto(f"{ORDERS}/discussion")
    page.get_by_label("About what").select_option("email")
    page.get_by_label("Message").fill("Is it verified?")
    page.get_by_role("button", name="Start the conversation").click()
    expect(page.get_by_role("article")).to_contain_text("about email")
    with served.administrator() as client:
        tables = client.get("/metadata/types/name/table").json()
        text = client.get("/metadata/types/name/string").json()
        kind = {"id": text["id"], "type": "type"}
        retention = {"name": "kept", "displayName": "Kept for", "description": "How long.", "propertyType": kind}
        assert client.put(f"/metadata/types/{tables['id']}", json=retention).is_success
    page.goto(ORDERS)
    page.get_by_role("button", name="Change Kept for").click()
    page.get_by_label("Kept for", exact=True).last.fill(NASTY)
    page.get_by_role("form", name="Kept for").get_by_role("button", name="Save").click()
    expect(page.get_by_text("Kept for is saved.")).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="<script>")).to_be_visible()
    assert page.locator("main img").count() == 0


def test_addresses_of_messages_lead_to_the_asset(served: Served, page: Page, orders: Json) -> None:
    alice(served, page)
    page.goto(f"/#/tables/{orders['id']}")
    expect(page.get_by_role("heading", name="orders", exact=True)).to_be_visible()
    assert page.url.endswith(ORDERS)
    page.goto("/table/warehouse.shop.public.nothing")
    expect(page.get_by_text("Nothing has this name, or you may not see it")).to_be_visible()
