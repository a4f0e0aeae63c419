"""Change requests in a browser: announced with who would be asked, answered by their owner, moved by their author."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.logged_in import log_in
from tests.serving import Json, Served, table, warehouse

from tocsin.server.bootstrap import ADMINISTRATOR

pytestmark = pytest.mark.browser

PATCH = {"Content-Type": "application/json-patch+json"}


def test_a_removal_is_announced_answered_by_an_owner_below_and_moved(
    served: Served, page: Page, browser: Browser
) -> None:
    bob_id, _ = served.person("bob", displayName="Bob Stone")
    with served.administrator() as client:
        orders = warehouse(client)
        report = table(client, "report", owners=[{"id": bob_id, "type": "user"}])
        edge = {"fromEntity": {"id": orders["id"], "type": "table"}, "toEntity": {"id": report["id"], "type": "table"}}
        assert client.put("/lineage", json={"edge": edge}).is_success
    log_in(page, ADMINISTRATOR["email"], served.password)
    page.goto("/changes")
    expect(page.get_by_role("heading", name="No change is announced.")).to_be_visible()
    page.goto(f"/changes/new?type=table&asset={orders['fullyQualifiedName']}")
    page.get_by_role("combobox", name="Column").select_option("email")
    expect(page.get_by_role("complementary").filter(has_text="Who would be asked")).to_contain_text(
        "1 reader, nearest first"
    )
    expect(page.get_by_role("complementary").filter(has_text="Who would be asked")).to_contain_text("Bob Stone")
    page.get_by_label("Why").fill("The address belongs to the customer. <b>")
    page.get_by_label("What to use instead").fill("customers.email")
    page.get_by_role("button", name="Announce the change").click()
    expect(page.get_by_role("heading", name="Remove email from orders")).to_be_visible()
    expect(page.get_by_text("“The address belongs to the customer. <b>”")).to_be_visible()
    expect(page.get_by_role("button", name="We are ready")).to_have_count(0)
    assert page.url.endswith("/changes/CR-1")
    expect(page).to_have_title(re.compile("CR-1 Remove email from orders"))

    _answer_as_bob(browser, served)
    page.reload()
    expect(page.get_by_role("img", name="1 of 1 have answered")).to_be_visible()
    expect(page.get_by_text("The report is fixed by contract.").first).to_be_visible()
    page.get_by_label("Add to the discussion").fill("Then we wait.")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("listitem").filter(has_text="Then we wait.")).to_be_visible()
    page.get_by_role("button", name="Withdraw…").click()
    page.get_by_label("Why").fill("Bob objects.")
    page.get_by_role("button", name="Withdraw CR-1").click()
    expect(page.get_by_text("withdrawn", exact=True).first).to_be_visible()
    page.goto("/changes?status=withdrawn")
    expect(page.get_by_role("link", name="Remove email from orders")).to_be_visible()
    _compares_what_came(page, served, orders)


def _compares_what_came(page: Page, served: Served, orders: Json) -> None:
    """Remove a column a month before its day, and see on the page that it is gone, earlier than announced."""
    entity = {"type": "table", "fullyQualifiedName": orders["fullyQualifiedName"]}
    day_ms = int(time.time() * 1_000) + 30 * 86_400_000
    request = {"entity": entity, "kind": "removal", "column": "email", "date": day_ms, "why": "Nobody may read it."}
    kept_columns = [column for column in orders["columns"] if column["name"] != "email"]
    with served.administrator() as client:
        assert client.post("/changes", json=request).is_success
        operation = {"op": "replace", "path": "/columns", "value": kept_columns}
        answer = client.patch(f"/tables/{orders['id']}", json=[operation], headers=PATCH)
        assert answer.is_success, answer.text
    page.goto("/changes/CR-2")
    expect(page.get_by_text("done earlier than announced")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Announced for")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Came")).to_be_visible()
    expect(page.get_by_role("row", name="email").get_by_text("gone", exact=True)).to_have_count(2)


def _answer_as_bob(browser: Browser, served: Served) -> None:
    """Log in as the owner of the reader, object, and see that the answer stands."""
    context = browser.new_context(base_url=served.url)
    tab = context.new_page()
    tab.goto("/changes/CR-1")
    log_in(tab, "bob@example.org", "bob-password")
    expect(tab.get_by_text("Your answer is open")).to_be_visible()
    tab.get_by_role("button", name="Object…").click()
    send = tab.get_by_role("button", name="Send the answer")
    expect(send).to_be_disabled()
    tab.get_by_label("Why").fill("The report is fixed by contract.")
    send.click()
    expect(tab.get_by_text("objects", exact=True)).to_be_visible()
    expect(tab.get_by_text("Your answer is open")).to_have_count(0)
    _change_on_a_phone(tab)
    context.close()


def _change_on_a_phone(tab: Page) -> None:
    """Change the answer where it stands at the top, and in the row of the reader: each form opens in view."""
    tab.set_viewport_size({"width": 390, "height": 700})
    expect(tab.get_by_text("You have answered for 1 reader of yours: objects.")).to_be_visible()
    tab.get_by_role("button", name="Change your answer").click()
    expect(tab.get_by_role("radio", name="Object")).to_be_focused()
    expect(tab.get_by_role("radio", name="Object")).to_be_in_viewport()
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("button", name="Change your answer")).to_be_focused()
    tab.get_by_role("row", name="report").get_by_role("button", name="Change").click()
    expect(tab.get_by_role("group", name="Answer for report")).to_be_in_viewport()
    tab.get_by_role("button", name="Cancel").click()
    expect(tab.get_by_role("group", name="Answer for report")).to_have_count(0)
