"""Tests of coming in by OpenID Connect in a real browser: by the provider's redirect, never by a link."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import Engine
from tests.openidprovider import Provider, provider, settings
from tests.serving import Served, running_server
from tests.startedstore import StartedStore

__all__ = ["provider"]

pytestmark = pytest.mark.browser


@pytest.fixture
def company(sqlite_engine: Engine, started_store: StartedStore, provider: Provider) -> Iterator[Served]:
    with running_server(sqlite_engine, settings(provider), password=started_store.password) as served:
        yield served


def test_the_provider_leads_back_to_the_page_and_a_link_logs_nobody_in(browser: Browser, company: Served) -> None:
    own_context, victim = browser.new_context(base_url=company.url), browser.new_context(base_url=company.url)
    page = own_context.new_page()
    page.goto("/api/v1/auth/login")
    expect(page.get_by_text("Alice Liddell")).to_be_visible()
    assert "login=" not in page.url
    victim_page = victim.new_page()
    token = page.evaluate("sessionStorage.getItem('tocsin.token')")
    assert token
    victim_page.goto(f"/#token={token}")
    expect(victim_page.get_by_role("button", name="Log in")).to_be_visible()
    victim_page.goto("about:blank")
    victim_page.goto("/#login=somebody-elses-code")
    expect(victim_page.get_by_text("start again")).to_be_visible()
    assert victim_page.evaluate("sessionStorage.getItem('tocsin.token')") is None
    own_context.close()
    victim.close()
