"""Governance and administration in a browser: a domain made and undone, rights, health, a bot, an erasure."""

from __future__ import annotations

import base64

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from tests.browser.logged_in import log_in
from tests.entries import entry_of
from tests.serving import Served

from tocsin.model.entity import Document
from tocsin.server.bootstrap import ADMINISTRATOR
from tocsin.store.catalogue.search.writes import SearchWrites
from tocsin.store.upkeep.erasure.requests import Erasures

pytestmark = pytest.mark.browser


def test_an_administrator_makes_a_domain_and_a_bot_and_sees_rights_and_health(
    served: Served, page: Page, sqlite_engine: Engine
) -> None:
    log_in(page, ADMINISTRATOR["email"], served.password)
    page.goto("/governance")
    page.get_by_role("button", name="Create a domain").click()
    page.get_by_label("Name", exact=True).fill("Shop")
    page.get_by_label("Description").fill("Carts <b>and</b> orders.")
    page.get_by_role("button", name="Create the domain").click()
    pane = page.get_by_role("region", name="What is chosen")
    expect(pane).to_contain_text("Carts <b>and</b> orders.")
    expect(pane).to_contain_text("Nobody: it has no owner and no follower.")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name="There are no domains yet.")).to_be_visible()
    page.get_by_role("link", name="Policies").click()
    page.get_by_role("link", name="Organization Policy").click()
    expect(pane).to_contain_text("view all of everything")
    page.get_by_role("link", name="Who may?").click()
    expect(page.get_by_role("row", name="edit description may")).to_be_visible()

    page.goto("/admin")
    expect(page.get_by_role("heading", name="Is Tocsin itself well?")).to_be_visible()
    expect(page.get_by_text("Every destination delivers.")).to_be_visible()
    page.get_by_role("button", name="7 days").click()
    expect(page).to_have_url(f"{served.url}/admin?span=7d")
    page.get_by_role("link", name="Quotas").click()
    expect(page.get_by_text("Tocsin itself")).to_be_visible()
    page.get_by_role("link", name="alerts_per_person").click()
    expect(page.get_by_role("row", name="Alerts per person")).to_contain_text("50")
    page.get_by_role("searchbox", name="Search settings").fill("where data folder sqlite")
    expect(page.get_by_text("No setting has these words.")).to_be_visible()
    page.get_by_role("searchbox", name="Search settings").fill("sqlite folder")
    expect(page.get_by_role("row", name="Data dir")).to_contain_text("start of the process")
    page.get_by_role("link", name="Bots").click()
    page.get_by_label("Name", exact=True).fill("dbt-ingestion")
    page.get_by_role("button", name="Create the bot").click()
    page.get_by_role("button", name="Give a new token").click()
    page.get_by_role("button", name="Give the token").click()
    token = page.get_by_label("The token of dbt-ingestion", exact=True).inner_text()
    with served.client(token) as client:
        assert client.get("/users/loggedInUser").json()["name"] == "dbt-ingestion"
        page.get_by_role("button", name="Revoke its token").click()
        page.get_by_role("button", name="Revoke the token").click()
        expect(page.get_by_text("can no longer log in")).to_be_visible()
        assert client.get("/users/loggedInUser").status_code == 401
    page.get_by_role("link", name="What it wrote today").click()
    expect(page).to_have_url(f"{served.url}/events?by=dbt-ingestion&days=1")
    expect(page.get_by_role("heading", name="Events", exact=True)).to_be_visible()
    page.goto("/admin")
    page.get_by_role("link", name="People").click()
    page.get_by_role("button", name="Create a person").click()
    page.get_by_label("Log-in name").fill("erin")
    page.get_by_label("E-mail").fill("erin@example.org")
    page.get_by_role("button", name="Create the person").click()
    password = page.get_by_label("The password of erin", exact=True).inner_text()
    body = {"email": "erin@example.org", "password": base64.b64encode(password.encode()).decode()}
    with served.administrator() as client:
        assert client.post("/users/login", json=body).status_code == 200
        page.get_by_role("button", name="Done").click()
        page.get_by_role("button", name="Acts for erin").click()
        page.get_by_role("menuitem", name="Deactivate").click()
        expect(page.get_by_text("logged out everywhere")).to_be_visible()
        assert client.post("/users/login", json=body).status_code == 401
    _erases_who_left(page, sqlite_engine)
    page.get_by_placeholder("Beginning of a name").fill("adm")
    expect(page.get_by_role("row", name="administrator")).to_have_count(1)

    page.get_by_role("link", name="Retention").click()
    page.get_by_role("button", name="Set rules").click()
    page.get_by_label("Days in the log of updated").fill("1")
    page.get_by_role("button", name="See what they would delete").click()
    expect(page.get_by_role("alert")).to_contain_text("0 events would be deleted")
    page.get_by_role("button", name="Save these rules").click()
    expect(page.get_by_role("row", name="updated 1 day")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_text("Everything is kept: no rule removes events.")).to_be_visible()


def _erases_who_left(page: Page, engine: Engine) -> None:
    """Erase a person after the count of what would change, by the name, typed."""
    page.get_by_role("button", name="Deactivated").click()
    page.get_by_role("button", name="Acts for erin").click()
    page.get_by_role("menuitem", name="Erase…").click()
    dialog = page.get_by_role("dialog", name="Erase erin")
    expect(dialog).to_contain_text("tocsin pipeline")
    _finish_erasure(engine, {"rewritten": {"entities": 3, "events": 4}, "lake": {"events": 5}})
    expect(dialog).to_contain_text("It would change 12 records.")
    button = dialog.get_by_role("button", name="Erase for good")
    dialog.get_by_label("Type erin to confirm").fill("eri")
    expect(button).to_be_disabled()
    dialog.get_by_label("Type erin to confirm").fill("erin")
    button.click()
    expect(dialog).to_contain_text("tocsin pipeline")
    _finish_erasure(engine, {"rewritten": {"entities": 3}})
    expect(dialog).to_contain_text("erin is erased: nothing that Tocsin stores names this person")
    dialog.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Active", exact=True).click()


def _finish_erasure(engine: Engine, result: Document) -> None:
    """Answer the erasure that waits, as the pipeline does."""
    erasures = Erasures(engine)
    erasure = erasures.claim("a pipeline", now_ms=1, lost_after_ms=1)
    assert erasure is not None
    assert erasures.finish(erasure, "a pipeline", result, now_ms=2)


def test_a_steward_keeps_a_glossary_and_gives_a_right(served: Served, sqlite_engine: Engine, page: Page) -> None:
    """A term is made, moved and brought back; a rule that the server refuses is told at once; who may is answered."""
    bob_id, client = served.person("bob", displayName="Bob Jones")
    client.close()
    with served.administrator() as client:
        SearchWrites(sqlite_engine).put([entry_of("user", client.get(f"/users/{bob_id}").json())])
    log_in(page, ADMINISTRATOR["email"], served.password)
    page.goto("/governance/glossaries")
    pane = page.get_by_role("region", name="What is chosen")
    tree = page.get_by_role("region", name="Glossaries")
    for button, name in (("glossary", "Sales"), ("term", "Revenue"), ("term", "Net")):
        scope = tree if button == "glossary" else pane
        scope.get_by_role("button", name=f"{'Create' if button == 'glossary' else 'Add'} a {button}").click()
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_label("Description").fill(f"What {name} means.")
        page.get_by_role("button", name=f"Create the {button}").click()
        expect(pane.get_by_role("heading", name=name, exact=True)).to_be_visible()
    expect(page).to_have_url(f"{served.url}/governance/glossaries/Sales.Revenue.Net")
    pane.get_by_role("button", name="Move").click()
    page.get_by_role("button", name="Remove Revenue").click()
    page.get_by_role("button", name="Move the glossary term").click()
    expect(page).to_have_url(f"{served.url}/governance/glossaries/Sales.Net")
    page.keyboard.press("z")
    expect(page).to_have_url(f"{served.url}/governance/glossaries/Sales.Revenue.Net")
    pane.get_by_role("button", name="Delete").click()
    expect(tree.get_by_role("link", name="Net")).to_have_count(0)
    page.keyboard.press("z")
    expect(tree.get_by_role("link", name="Net")).to_be_visible()

    page.goto("/governance/policies/DataStewardPolicy")
    pane.get_by_role("button", name="Add a rule").click()
    page.get_by_label("Name", exact=True).fill("Owners delete")
    for field, word in (("Acts", "delete"), ("Of which types", "dashboard")):
        page.get_by_role("combobox", name=field).fill(word)
        page.get_by_role("option", name=word, exact=True).click()
    page.get_by_label("Only if (optional)").fill("isOwner( && x")
    page.get_by_role("button", name="Save the rule").click()
    expect(page.get_by_role("alert")).to_contain_text("Line 1, column 10")
    page.get_by_label("Only if (optional)").fill("isOwner()")
    page.get_by_role("button", name="Save the rule").click()
    expect(pane).to_contain_text("delete of dashboard, if isOwner()")

    page.goto("/governance/roles/DataSteward")
    pane.get_by_role("button", name="add a person or team").click()
    page.get_by_role("combobox", name="Add a person or team").fill("bob")
    page.get_by_role("option", name="Bob Jones").click()
    expect(pane.get_by_role("link", name="bob")).to_be_visible()
    with served.administrator() as client:
        assert [role["name"] for role in client.get(f"/users/{bob_id}?fields=roles").json()["roles"]] == ["DataSteward"]
    page.goto("/governance/rights")
    page.get_by_role("combobox", name="Person").fill("bob")
    page.get_by_role("option", name="Bob Jones").click()
    page.get_by_role("combobox", name="Act", exact=True).select_option("EditOwners")
    answer = page.get_by_role("status").filter(has_text="edit owners")
    expect(answer).to_contain_text("Yes: Bob Jones may edit owners of tables.")
    expect(answer).to_contain_text("DataStewardPolicy")


def test_who_is_no_administrator_is_told_so(served: Served, page: Page) -> None:
    served.person("carol")
    log_in(page, "carol@example.org", "carol-password")
    page.goto("/admin")
    expect(page.get_by_role("heading", name="The health of Tocsin may not be seen with your rights.")).to_be_visible()
    page.goto("/governance")
    expect(page.get_by_role("heading", name="There are no domains yet.")).to_be_visible()
    expect(page.get_by_role("button", name="Create a domain")).to_have_count(0)
