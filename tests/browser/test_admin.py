"""Governance and administration in a browser: a domain made and undone, rights, health, a bot with its token."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from tests.browser.logged_in import log_in
from tests.serving import Served

from tocsin.server.bootstrap import ADMINISTRATOR

pytestmark = pytest.mark.browser


def test_an_administrator_makes_a_domain_and_a_bot_and_sees_rights_and_health(served: Served, page: Page) -> None:
    log_in(page, ADMINISTRATOR["email"], served.password)
    page.goto("/governance")
    page.get_by_role("button", name="Make a domain").click()
    page.get_by_label("Name", exact=True).fill("Shop")
    page.get_by_label("Description").fill("Carts <b>and</b> orders.")
    page.get_by_role("button", name="Make the domain").click()
    row = page.get_by_role("listitem").filter(has_text="Carts <b>and</b> orders.")
    expect(row).to_contain_text("no owner: nobody told")
    page.get_by_role("button", name="Undo").click()
    expect(row).to_have_count(0)
    page.get_by_role("link", name="Policies").click()
    policy = page.get_by_role("listitem").filter(has_text="Organization Policy").first
    policy.get_by_text("rules").click()
    expect(policy).to_contain_text("view all of everything")
    page.get_by_role("link", name="Who may?").click()
    expect(page.get_by_role("row", name="edit description may")).to_be_visible()

    page.goto("/admin")
    expect(page.get_by_role("heading", name="Is Tocsin itself well?")).to_be_visible()
    expect(page.get_by_text("Every destination delivers.")).to_be_visible()
    page.get_by_role("link", name="Bots").click()
    page.get_by_label("Name", exact=True).fill("dbt-ingestion")
    page.get_by_role("button", name="Make the bot").click()
    page.get_by_role("button", name="Give a new token").click()
    token = page.get_by_label("The token of dbt-ingestion", exact=True).inner_text()
    with served.client(token) as client:
        assert client.get("/users/loggedInUser").json()["name"] == "dbt-ingestion"
    page.get_by_role("link", name="People").click()
    page.get_by_placeholder("Beginning of a name").fill("adm")
    expect(page.get_by_role("row", name="administrator")).to_have_count(1)


def test_who_is_no_administrator_is_told_so(served: Served, page: Page) -> None:
    served.person("carol")
    log_in(page, "carol@example.org", "carol-password")
    page.goto("/admin")
    expect(page.get_by_role("heading", name="You may not see the health of Tocsin")).to_be_visible()
    page.goto("/governance")
    expect(page.get_by_role("heading", name="There are no domains yet.")).to_be_visible()
    expect(page.get_by_role("button", name="Make a domain")).to_have_count(0)
