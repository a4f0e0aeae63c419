"""Tests of the frame in a real browser: the bell rings and says why, the palette finds, keys lead, Home answers."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from tests.browser.stories import alice, tell
from tests.entries import entry_of
from tests.serving import Served, warehouse

from tocsin.store.catalogue.search.writes import SearchWrites

pytestmark = pytest.mark.browser

NASTY = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
_WHOLE_ID = "01a2271c-e970-712d-84a8-d2a3226c0060"


def test_the_bell_rings_by_itself_says_why_pauses_and_marks_as_read(
    served: Served, page: Page, sqlite_engine: Engine
) -> None:
    with served.administrator() as client:
        warehouse(client)
    user_id = alice(served, page)
    bell = page.get_by_role("button", name="Notifications")
    tell(served, sqlite_engine, user_id, NASTY)
    expect(bell).to_have_accessible_name("Notifications, 1 unread")
    bell.click()
    open_bell = page.get_by_role("dialog", name="Notifications")
    newest = open_bell.get_by_role("link").filter(has_text="<img src=x")
    expect(newest).to_contain_text("you own it")
    assert open_bell.locator("img").count() == 0
    for name in ("part", "whole"):
        tell(served, sqlite_engine, user_id, name, whole_id=_WHOLE_ID)
        expect(page).to_have_title("(2) Home · Tocsin")
    open_bell.get_by_role("button", name="Pause for 1 h").click()
    expect(open_bell.get_by_role("button", name="Paused until")).to_be_visible()
    with served.administrator() as client:
        (mute,) = client.get(f"/users/{user_id}/mutes").json()["data"]
        assert (mute["kind"], mute["until"] - mute["since"] > 3_500_000) == ("everything", True)
    page.get_by_role("button", name="Undo").click()
    expect(open_bell.get_by_role("button", name="Pause for 1 h")).to_be_visible()
    open_bell.get_by_role("button", name="Mark information read").click()
    expect(page).to_have_title("Home · Tocsin")
    expect(open_bell.get_by_text("Nothing unread.")).to_be_visible()
    page.get_by_role("button", name="Undo").last.click()
    expect(page).to_have_title("(2) Home · Tocsin")


def test_the_palette_finds_people_and_assets_and_keys_lead_everywhere(
    served: Served, page: Page, sqlite_engine: Engine
) -> None:
    with served.administrator() as client:
        SearchWrites(sqlite_engine).put([entry_of("table", warehouse(client))])
    alice(served, page)
    expect(page.get_by_label("Problems").get_by_role("listitem").first).to_contain_text("Notifications are late")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("orde")
    expect(page.get_by_role("option", name="orders")).to_contain_text("table · warehouse / shop / public")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{served.url}/table/warehouse.shop.public.orders")
    page.keyboard.press("g")
    page.keyboard.press("h")
    expect(page).to_have_url(f"{served.url}/")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("Undo what was done last")
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    page.keyboard.press("/")
    page.get_by_role("combobox").fill("dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.evaluate("history.pushState(null, '', '/a/b/c/d'); dispatchEvent(new PopStateEvent('popstate'))")
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()


def test_home_answers_and_fits_a_phone(served: Served, page: Page, sqlite_engine: Engine) -> None:
    with served.administrator() as client:
        warehouse(client)
    page.set_viewport_size({"width": 320, "height": 750})
    user_id = alice(served, page)
    tell(served, sqlite_engine, user_id, "first")
    expect(page.get_by_role("region", name="Since ").get_by_role("link", name="first")).to_be_visible()
    expect(page.get_by_role("region", name="Needs you")).to_contain_text("Nothing needs you.")
    expect(page.get_by_role("region", name="People on it now")).to_contain_text("No incident is open.")
    expect(page.get_by_role("region", name="Your alerts")).to_contain_text("You own no alert.")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.get_by_text("Everything", exact=True).click()
    expect(page).to_have_url(f"{served.url}/?of=everything")
    expect(page.get_by_role("region", name="Since ").get_by_role("link", name="first")).to_be_visible()
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Events").click()
    expect(page).to_have_url(f"{served.url}/events")
    page.context.set_offline(True)
    page.get_by_role("link", name="Home").click()
    expect(page.get_by_text("No connection since")).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_text("No connection since")).to_have_count(0)
