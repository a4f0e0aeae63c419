"""Properties of an organisation in a browser: references, tables, intervals and links, shown and edited in place."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from tests.browser.logged_in import log_in
from tests.entries import entry_of
from tests.serving import Served, warehouse

from tocsin.server.bootstrap import ADMINISTRATOR
from tocsin.store.catalogue.search.writes import SearchWrites

pytestmark = pytest.mark.browser

_PROPERTIES = (
    ("steward", "entityReference", ["user"]),
    ("readers", "entityReferenceList", ["user"]),
    ("window", "timeInterval", None),
    ("runbook", "hyperlink-cp", None),
    ("quality", "table-cp", {"columns": ["rule", "limit"]}),
)


def test_properties_of_several_parts_are_edited_where_they_stand(
    served: Served, sqlite_engine: Engine, page: Page
) -> None:
    alice_id, client = served.person("alice", displayName="Alice Smith")
    client.close()
    with served.administrator() as client:
        orders = warehouse(client)
        SearchWrites(sqlite_engine).put([entry_of("user", client.get(f"/users/{alice_id}").json())])
        table_type = client.get("/metadata/types/name/table").json()["id"]
        for name, kind, config in _PROPERTIES:
            kind_id = client.get(f"/metadata/types/name/{kind}?category=field").json()["id"]
            body = {"name": name, "description": name, "propertyType": {"id": kind_id, "type": "type"}}
            body |= {"customPropertyConfig": {"config": config}} if config else {}
            assert client.put(f"/metadata/types/{table_type}", json=body).is_success
    log_in(page, ADMINISTRATOR["email"], served.password)
    page.goto("/table/warehouse.shop.public.orders")

    def save() -> None:
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)

    for name in ("steward", "readers"):
        page.get_by_role("button", name=f"Change {name}").click()
        page.get_by_role("combobox", name=name).fill("ali")
        page.get_by_role("option", name="Alice Smith").click()
        save()
    expect(page.get_by_role("definition").get_by_role("link", name="Alice Smith")).to_have_count(2)
    page.get_by_role("button", name="Change window").click()
    page.get_by_label("From", exact=True).fill("2026-11-30T08:00")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("An interval needs a beginning and an end.")
    page.get_by_label("To", exact=True).fill("2026-11-30T09:30")
    save()
    page.get_by_role("button", name="Change runbook").click()
    page.get_by_label("Address", exact=True).fill("https://wiki.example.org/orders")
    page.get_by_label("Shown as").fill("What to do")
    save()
    expect(page.get_by_role("link", name="What to do")).to_have_attribute("href", "https://wiki.example.org/orders")
    page.get_by_role("button", name="Change quality").click()
    page.get_by_label("rule, row 1").fill("no negative totals")
    page.get_by_role("button", name="Add a row").click()
    page.get_by_label("limit, row 2").fill("3 %")
    save()
    expect(page.get_by_role("cell", name="no negative totals")).to_be_visible()

    with served.administrator() as client:
        extension = client.get(f"/tables/{orders['id']}?fields=extension").json()["extension"]
    assert (extension["steward"]["id"], [one["id"] for one in extension["readers"]]) == (alice_id, [alice_id])
    assert extension["window"]["end"] - extension["window"]["start"] == 90 * 60_000
    assert extension["runbook"] == {"url": "https://wiki.example.org/orders", "displayText": "What to do"}
    assert extension["quality"]["rows"] == [{"rule": "no negative totals"}, {"limit": "3 %"}]
