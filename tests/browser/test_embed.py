"""Test of the elements in a foreign page: the host of docs/embed.md shows bell and follow; an unlisted one nothing."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import Engine
from tests.browser.stories import tell
from tests.contract.test_access import restrict
from tests.serving import Served, running_server, server_settings, warehouse
from tests.startedstore import StartedStore

pytestmark = pytest.mark.browser

PAGE = Path(__file__).resolve().parents[2] / "docs/embed.md"
_RULE = {"resources": ["user"], "operations": ["Impersonate"], "effect": "allow"}


_LATE_SCRIPT = """server => {
    const follow = document.createElement('tocsin-follow')
    follow.setAttribute('type', 'table')
    follow.setAttribute('fqn', 'x')
    follow.getToken = () => Promise.reject(new Error('No token for me.'))
    const script = document.createElement('script')
    script.src = `${server}/embed/tocsin.js`
    document.body.replaceChildren(follow, script)
}"""


@contextmanager
def _host() -> Iterator[ThreadingHTTPServer]:
    """Serve on a free port; what is answered is set later, as the example needs to know where Tocsin is."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(10)


def _address(host: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{host.server_port}"


def _example(served: Served, monkeypatch: pytest.MonkeyPatch) -> type[BaseHTTPRequestHandler]:
    """Run the documented host up to its start; return its handler."""
    with served.administrator() as administrator:
        bot = administrator.post("/users", json={"name": "portal", "email": "p@example.org", "isBot": True}).json()
        restrict(administrator, bot["id"], _RULE)
        token = administrator.put(f"/users/generateToken/{bot['id']}").json()["JWTToken"]
    monkeypatch.setenv("TOCSIN_SERVER", served.url)
    monkeypatch.setenv("TOCSIN_TOKEN", token)
    (code,) = re.findall(r"```python\n(.+?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {"__name__": "portal"}
    exec(compile(code, "docs/embed.md", "exec"), names)

    quiet_portal: type[BaseHTTPRequestHandler] = type(
        "QuietPortal", (names["Portal"],), {"log_message": lambda *_: None}
    )
    return quiet_portal


@pytest.fixture
def foreign_page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(permissions=[])
    tab = context.new_page()
    tab.set_default_timeout(30_000)
    yield tab
    context.close()


def test_a_foreign_page_shows_bell_and_follow_and_one_that_is_not_listed_shows_nothing(
    sqlite_engine: Engine, started_store: StartedStore, foreign_page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, problems = foreign_page, list[str]()
    page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    with _host() as host, _host() as unlisted_host:
        settings = server_settings(embed_origins=(_address(host),))
        with running_server(
            sqlite_engine, settings, password=started_store.password, token=started_store.token
        ) as server:
            host.RequestHandlerClass = unlisted_host.RequestHandlerClass = _example(server, monkeypatch)
            with server.administrator() as administrator:
                warehouse(administrator)
            alice_id, alice = server.person("alice")

            page.goto(_address(host))
            bell = page.get_by_role("button", name="Notifications")
            expect(bell).to_have_accessible_name("Notifications")
            follow = page.get_by_role("button", name="Follow orders")
            follow.press("Enter")
            expect(follow).to_have_attribute("aria-pressed", "true")
            expect(page.locator("tocsin-follow")).to_contain_text("You follow orders.")
            assert [one["name"] for one in alice.get(f"/users/{alice_id}/follows").json()["tables"]] == ["orders"]

            event_name = "<img src=x onerror=document.title=1>"
            tell(server, sqlite_engine, alice_id, event_name)
            page.evaluate("dispatchEvent(new Event('focus'))")
            expect(bell).to_have_accessible_name("Notifications, 1 unread")
            expect(page.locator("tocsin-bell").get_by_role("status")).to_have_text("1 new notification")
            bell.press("Enter")
            panel = page.get_by_role("dialog", name="Notifications")
            entry = panel.get_by_role("link").filter(has_text=event_name)
            expect(entry).to_contain_text("you own it")
            assert panel.locator("img").count() == 0
            address = entry.get_attribute("href") or ""
            assert address.startswith(f"{server.url}/inbox/")
            page.keyboard.press("Escape")
            expect(panel).to_be_hidden()
            assert page.context.cookies() == []

            page.evaluate("document.querySelector('tocsin-bell').setAttribute('theme', 'dark')")
            dark_colour = page.locator("tocsin-bell").evaluate("bell => getComputedStyle(bell).color")
            assert dark_colour == "rgb(232, 234, 238)"
            page.evaluate("document.querySelector('tocsin-bell').style.setProperty('--tocsin-text', 'rgb(1, 2, 3)')")
            theme_colour = page.locator("tocsin-bell").evaluate("bell => getComputedStyle(bell).color")
            assert theme_colour == "rgb(1, 2, 3)"
            assert problems == []

            with server.administrator() as administrator:
                assert administrator.delete(f"/users/{alice_id}").is_success
            follow.click()
            expect(page.get_by_role("alert")).to_contain_text("This page has no access to Tocsin.")

            page.goto(f"{_address(host)}/tocsin-token")  # a page without the script, which comes after the element
            page.evaluate(_LATE_SCRIPT, server.url)
            expect(page.get_by_role("alert")).to_have_text("No token for me.")

            page.goto(_address(unlisted_host))
            expect(page.get_by_role("alert")).to_contain_text("This page has no access to Tocsin.")
            expect(bell).to_have_accessible_name("Notifications")
            alice.close()
