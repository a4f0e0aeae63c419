"""Tests of coming in and going out in a real browser: by password, by OpenID Connect, and by links in messages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import Engine
from tests.browser.stories import alice, log_in, tell
from tests.openidprovider import Provider, provider, settings
from tests.serving import Served, running_server, warehouse
from tests.startedstore import StartedStore

from tocsin.delivery.links.pages import OpenedLink, token_of
from tocsin.server.bootstrap import ADMINISTRATOR

__all__ = ["provider"]

pytestmark = pytest.mark.browser


@pytest.fixture
def company(sqlite_engine: Engine, started_store: StartedStore, provider: Provider) -> Iterator[Served]:
    with running_server(sqlite_engine, settings(provider), password=started_store.password) as served:
        yield served


def log_out(page: Page) -> None:
    page.get_by_role("button", name="You: ").click()
    page.get_by_role("menuitem", name="Log out").click()


def test_a_wrong_password_says_so_the_right_one_lets_in_and_a_log_out_is_one_of_all_tabs(
    served: Served, page: Page
) -> None:
    log_in(page, ADMINISTRATOR["email"], "wrong")
    expect(page.get_by_role("alert")).to_have_text("Wrong e-mail address or password.")
    expect(page.get_by_label("Password")).to_have_value("")
    log_in(page, ADMINISTRATOR["email"], served.password)
    expect(page.get_by_role("heading", name="Good ")).to_be_visible()
    other_tab = page.context.new_page()
    other_tab.goto(f"{served.url}/inbox")
    expect(other_tab.get_by_role("navigation", name="Main")).to_be_visible()
    page.reload()
    log_out(page)
    for tab in (page, other_tab):
        expect(tab.get_by_label("Password")).to_be_visible()
        expect(tab.get_by_role("navigation", name="Main")).to_have_count(0)
    assert other_tab.url == f"{served.url}/inbox"


def test_a_session_that_ends_under_a_page_hides_it_and_who_logs_in_again_goes_on_there(
    served: Served, page: Page
) -> None:
    alice(served, page)
    page.get_by_role("button", name="Search assets").click()
    page.get_by_role("combobox").fill("half a wo")
    session_id = page.evaluate("fetch('/api/v1/auth/session').then((answer) => answer.json()).then((s) => s.id)")
    with served.client(served.log_in("alice@example.org", "alice-password")) as elsewhere:
        assert elsewhere.delete(f"/auth/sessions/{session_id}").status_code < 300
    expect(page.get_by_text("Your session has ended.")).to_be_visible()
    expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
    log_in(page, "alice@example.org", "alice-password")
    expect(page.get_by_role("button", name="You: Alice Smith")).to_be_visible()
    expect(page.get_by_text("Your session has ended.")).to_have_count(0)


def test_the_provider_leads_back_to_where_one_was_and_a_link_logs_nobody_in(browser: Browser, company: Served) -> None:
    own_context, victim = browser.new_context(base_url=company.url), browser.new_context(base_url=company.url)
    page = own_context.new_page()
    page.goto("/explore?q=orders")
    page.get_by_role("link", name="Log in with your organisation").click()
    expect(page.get_by_role("button", name="You: Alice Liddell")).to_be_visible()
    assert page.url == f"{company.url}/explore?q=orders"
    victim_page = victim.new_page()
    victim_page.goto("/#token=somebody-elses-token")
    expect(victim_page.get_by_role("button", name="Log in")).to_be_visible()
    victim_page.goto("about:blank")
    victim_page.goto("/#login=somebody-elses-code")
    expect(victim_page.get_by_role("alert")).to_contain_text("start again")
    assert victim.cookies() == []
    own_context.close()
    victim.close()


def test_the_link_of_a_message_marks_as_read_in_all_tabs_once_its_reader_has_logged_in(
    served: Served, browser: Browser, page: Page, sqlite_engine: Engine
) -> None:
    with served.administrator() as client:
        orders = warehouse(client)
    user_id = alice(served, page)
    tell(served, sqlite_engine, user_id, "first")
    expect(page).to_have_title("(1) Home · Tocsin")
    page.get_by_role("button", name="Notifications").click()
    entry = page.get_by_role("dialog", name="Notifications").get_by_role("link", name="first")
    parts = served.app.state.parts
    entry_id = str(entry.get_attribute("href")).rsplit("/", 1)[-1]
    token = token_of(OpenedLink(entry_id, parts.clock.now_ms() + 9_000_000), parts.alert_stores.unsubscribe_key)
    phone = browser.new_context(base_url=served.url)
    mail = phone.new_page()
    mail.goto(f"/#/tables/{orders['id']}?opened={token}")
    expect(mail.get_by_label("Password")).to_be_visible()
    expect(page).to_have_title("(1) Home · Tocsin")
    log_in(mail, "alice@example.org", "alice-password")
    expect(mail).to_have_url(f"{served.url}/table/warehouse.shop.public.orders")
    expect(page).to_have_title("Home · Tocsin")
    phone.close()
