"""The web application on a server without TLS, by another name than this machine's: browsers offer pages less there."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.logged_in import log_in
from tests.serving import Served, warehouse

pytestmark = pytest.mark.browser


def test_pages_without_tls_copy_names_and_follow_live(browser: Browser, served: Served) -> None:
    with served.administrator() as client:
        warehouse(client)
    served.person("alice")[1].close()
    context = browser.new_context(base_url=f"http://tocsin.test:{urlsplit(served.url).port}")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto("/")
    assert page.evaluate("window.isSecureContext") is False
    with page.expect_response(lambda answer: answer.url.endswith("/notifications/stream")) as stream:
        log_in(page, "alice", "alice-password")
    assert stream.value.ok
    page.goto("/table/warehouse.shop.public.orders")
    page.get_by_role("button", name="Copy the full name").click()
    expect(page.get_by_text("Copied").first).to_be_visible()
    page.goto("/explore")
    search = page.get_by_role("searchbox").first
    search.focus()
    page.keyboard.press("ControlOrMeta+V")
    expect(search).to_have_value("warehouse.shop.public.orders")
    context.close()
    assert errors == []
