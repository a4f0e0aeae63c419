"""Pictures of every page of the web application, in ``docs/images/web``: ``python -m tests.docs.web_pictures``.

Starts ``tocsin up`` with the sample company in a folder of its own, lets a day happen (``web_day.py``), and photographs
each page as Dana or the administrator sees it: light and dark, and on a phone. Needs Chromium and Java.
``--only inbox`` takes some; ``--server URL --password PASSWORD`` uses one that runs, where both have this password.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from bench.running import answers, until
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from tests.browser.conftest import CHROMIUM
from tests.docs.web_day import API, MARTS, ORDERS, TOTALS, Person, play_the_day

from tocsin.cli.ports import any_free_port

PICTURES = Path(__file__).resolve().parents[2] / "docs/images/web"
PEOPLE = {"admin": "admin@tocsin.example.org", "dana.whitlock": "dana.whitlock@fernhill.example.com"}
DESK, PHONE = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)
_WITHIN_S, _EVERY_S = 120.0, 0.5


class Look(NamedTuple):
    """How a page is photographed: the end of the picture's name, the size of the window, the theme."""

    suffix: str
    size: ViewportSize
    theme: Literal["light", "dark"]


LOOKS = (Look("", DESK, "light"), Look("-dark", DESK, "dark"), Look("-phone", PHONE, "light"))
PAGES = {
    "home": ("dana.whitlock", "/"),
    "inbox": ("dana.whitlock", "/inbox"),
    "explore": ("dana.whitlock", "/explore?q=orders"),
    "following": ("dana.whitlock", "/following"),
    "asset": ("dana.whitlock", f"/table/{ORDERS}"),
    "versions": ("dana.whitlock", f"/table/{ORDERS}/versions"),
    "discussion": ("dana.whitlock", f"/table/{ORDERS}/discussion"),
    "lineage": ("dana.whitlock", f"/table/{ORDERS}/lineage"),
    "test": ("dana.whitlock", f"/testCase/{TOTALS}"),
    "mart": ("dana.whitlock", f"/table/{MARTS}.fct_orders"),
    "incidents": ("dana.whitlock", "/incidents"),
    "changes": ("dana.whitlock", "/changes"),
    "change-request": ("dana.whitlock", "/changes/CR-1"),
    "preferences": ("dana.whitlock", "/settings/notifications"),
    "alerts": ("admin", "/alerts"),
    "alert": ("admin", "/alerts/Tier1SchemaChanges"),
    "alert-builder": ("admin", "/alerts/new"),
    "events": ("admin", "/events"),
    "governance": ("admin", "/governance"),
    "administration": ("admin", "/admin"),
    "components": ("admin", "/components"),
}


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=PAGES)
    parser.add_argument("--server")
    parser.add_argument("--password")
    options = parser.parse_args()
    names = options.only or list(PAGES)
    if options.server:
        _photograph(options.server, dict.fromkeys(PEOPLE, options.password), names)
        return
    with tempfile.TemporaryDirectory(prefix="tocsin-pictures-") as folder, company(Path(folder)) as (url, passwords):
        people = {name: Person.log_in(url, email, passwords[name]) for name, email in PEOPLE.items()}
        play_the_day(people["admin"], people["dana.whitlock"])
        _wait_for_notifications(people["dana.whitlock"])
        _photograph(url, passwords, names)


@contextmanager
def company(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Run the sample company; yield its address and the passwords of its people."""
    port = any_free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "TOCSIN_DATA_DIR": str(folder), "TOCSIN_PORT": str(port)}
    tocsin = (sys.executable, "-m", "tocsin")
    log = (folder.parent / f"{folder.name}.log").open("wb")
    server = subprocess.Popen((*tocsin, "up"), env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        until(lambda: answers(port), within_s=_WITHIN_S, every_s=_EVERY_S)
        passwords = {}
        for name in PEOPLE:
            command = (*tocsin, "admin", "reset-password", name, "--json")
            output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
            passwords[name] = json.loads(output)["password"]
        yield url, passwords
    finally:
        server.terminate()
        server.wait(30)
        log.close()
        Path(log.name).unlink()


def _wait_for_notifications(person: Person) -> None:
    me = person.send("GET", "/users/loggedInUser")["id"]
    path = f"/users/{me}/notifications?limit=50"
    until(lambda: len(_list(person.send("GET", path)["data"])) >= 3, within_s=_WITHIN_S, every_s=_EVERY_S)


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def _photograph(url: str, passwords: dict[str, str], names: list[str]) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for look in LOOKS:
            for name, email in PEOPLE.items():
                pages = {page: PAGES[page][1] for page in names if PAGES[page][0] == name}
                with _tab_of(browser, url, email, passwords[name], look) as tab:
                    for page, address in pages.items():
                        _photograph_page(tab, address, PICTURES / f"{page}{look.suffix}.png")
        browser.close()


@contextmanager
def _tab_of(browser: Browser, url: str, email: str, password: str, look: Look) -> Iterator[Page]:
    context = browser.new_context(
        base_url=url, viewport=look.size, color_scheme=look.theme, timezone_id="Europe/Berlin", reduced_motion="reduce"
    )
    body = {"email": email, "password": base64.b64encode(password.encode()).decode()}
    answer = context.request.post(f"{API}/auth/session", data=body, headers={"Origin": url})
    assert answer.ok, answer.text()
    yield context.new_page()
    context.close()


def _photograph_page(tab: Page, address: str, picture: Path) -> None:
    """Take a picture once the page has what it asked for."""
    tab.goto(address)
    tab.locator("main h1").first.wait_for()
    tab.wait_for_function("() => !document.querySelector('[aria-busy=\"true\"]')")
    tab.wait_for_timeout(700)  # what opens later than the rest: graphs
    tab.screenshot(path=picture, animations="disabled")


if __name__ == "__main__":
    main()
