"""Fixtures of the browser tests: a real Chromium, headless, and a running server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.serving import Served
from tests.startedserver import served, sqlite_url

__all__ = ["served", "sqlite_url"]

CHROMIUM = Path(os.environ.get("TOCSIN_TEST_CHROMIUM", "/usr/bin/chromium"))
_FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
_PATIENCE_MS = 30_000
"""How long tests wait for what a page shows: with other workers on two cores, and only where it is missing."""

_NAMES = "--host-resolver-rules=MAP tocsin.test 127.0.0.1"  # a server by another name than this machine's


expect.set_options(timeout=_PATIENCE_MS)

_running = ExitStack()
"""What ends the running Chromium."""
_browsers: list[Browser] = []
"""The running Chromium, or nothing."""


@pytest.fixture
def browser() -> Browser:
    """A running Chromium, the same for all tests here; skips when there is none."""
    if not CHROMIUM.exists():
        pytest.skip("no Chromium: apt-get install chromium, or set TOCSIN_TEST_CHROMIUM")
    if not _browsers:
        playwright = _running.enter_context(sync_playwright())
        _browsers.append(playwright.chromium.launch(executable_path=CHROMIUM, args=[*_FLAGS.split(), _NAMES]))
        _running.callback(_browsers[0].close)
    return _browsers[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """End Chromium before a test that is not of a browser: while Playwright runs, no other could have an event loop."""
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.get_closest_marker("browser") is None:
            _running.close()
            _browsers.clear()


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    """A fresh tab at the page, with nobody logged in; an error in a script fails the test."""
    context = browser.new_context(base_url=served.url)
    tab = context.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.set_default_timeout(_PATIENCE_MS)
    tab.goto("/")
    yield tab
    context.close()
    assert errors == []
