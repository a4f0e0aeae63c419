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
import re
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
from tests.docs.web_day import ACTORS, API, MARTS, ORDERS, TOTALS, Person, play_the_day, take_up_incident
from tests.docs.web_tutorial import steps_of_tutorial

from tocsin.cli.ports import any_free_port
from tocsin.sample.company import DEMO_PERSON, MAIL_DOMAIN

PICTURES = Path(__file__).resolve().parents[2] / "docs/images/web"
ADMINISTRATOR = "admin"
PEOPLE = {ADMINISTRATOR: "admin@tocsin.example.org"} | {name: f"{name}@{MAIL_DOMAIN}" for name in ACTORS}
TUTORIAL = "first-alert"
"""What ``--only`` calls the pictures of the tutorial."""
DESK, PHONE = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)
_BACKTESTED = re.compile("Who would hear most|Nothing in 90 days would have matched")
_WITHIN_S, _EVERY_S = 240.0, 0.5


class Look(NamedTuple):
    """How a page is photographed: the end of the picture's name, the size of the window, the theme."""

    suffix: str
    size: ViewportSize
    theme: Literal["light", "dark"]


LOOKS = (Look("", DESK, "light"), Look("-dark", DESK, "dark"), Look("-phone", PHONE, "light"))


class Shot(NamedTuple):
    """What is photographed: who looks, at which address, and what is pressed before, on a desk or everywhere."""

    reader: str
    address: str
    press: str = ""
    is_pressed_on_phone: bool = True


PAGES = {
    "home": Shot(DEMO_PERSON, "/"),
    "inbox": Shot(DEMO_PERSON, "/inbox", "[role=group][aria-label*='gift_note_text'] > a", is_pressed_on_phone=False),
    "failure": Shot(DEMO_PERSON, "/inbox?tab=all", "[role=group][aria-label*='Total is not negative'] > a"),
    "bell": Shot(DEMO_PERSON, "/explore?q=orders", "header button[aria-label*='otifications']"),
    "search": Shot(DEMO_PERSON, "/", "header button:has-text('Search')"),
    "explore": Shot(DEMO_PERSON, "/explore?q=orders"),
    "following": Shot(DEMO_PERSON, "/following"),
    "asset": Shot(DEMO_PERSON, f"/table/{ORDERS}"),
    "versions": Shot(DEMO_PERSON, f"/table/{ORDERS}/versions"),
    "discussion": Shot(DEMO_PERSON, f"/table/{ORDERS}/discussion"),
    "lineage": Shot(DEMO_PERSON, f"/table/{ORDERS}/lineage"),
    "test": Shot(DEMO_PERSON, f"/testCase/{TOTALS}"),
    "mart": Shot(DEMO_PERSON, f"/table/{MARTS}.fct_orders"),
    "incidents": Shot(DEMO_PERSON, "/incidents"),
    "incident": Shot(DEMO_PERSON, "/incidents/INC-4"),
    "changes": Shot(DEMO_PERSON, "/changes"),
    "change-request": Shot(DEMO_PERSON, "/changes/CR-1"),
    "preferences": Shot(DEMO_PERSON, "/settings/notifications"),
    "alerts": Shot(ADMINISTRATOR, "/alerts"),
    "alert": Shot(ADMINISTRATOR, "/alerts/Tier1SchemaChanges"),
    "alert-builder": Shot(ADMINISTRATOR, "/alerts/new"),
    "events": Shot(ADMINISTRATOR, "/events"),
    "governance": Shot(ADMINISTRATOR, "/governance"),
    "administration": Shot(ADMINISTRATOR, "/admin"),
    "components": Shot(ADMINISTRATOR, "/components"),
}


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=[*PAGES, TUTORIAL])
    parser.add_argument("--server")
    parser.add_argument("--password")
    options = parser.parse_args()
    names = options.only or [*PAGES, TUTORIAL]
    if options.server:
        _photograph(options.server, dict.fromkeys(PEOPLE, options.password), names)
        return
    with tempfile.TemporaryDirectory(prefix="tocsin-pictures-") as folder, company(Path(folder)) as (url, passwords):
        people = {name: Person.log_in(url, email, passwords[name]) for name, email in PEOPLE.items()}
        play_the_day(people[ADMINISTRATOR], people)
        _wait_for_incidents(people[ADMINISTRATOR])
        take_up_incident(people["priya.raman"])
        _wait_for_offers(people[DEMO_PERSON])
        _photograph(url, passwords, names)


@contextmanager
def company(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Run the sample company; yield its address and the passwords of its people."""
    port = any_free_port()
    url = f"http://127.0.0.1:{port}"
    variables = {"TOCSIN_DATA_DIR": str(folder), "TOCSIN_PORT": str(port), "TOCSIN_RECOMMENDATIONS_EVERY_S": "60"}
    environment = {**os.environ, **variables}
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


def _wait_for_incidents(administrator: Person) -> None:
    """Wait until the last failure of the day is an incident: by then all that came before it is told."""
    path = f"/incidents?asset={TOTALS}"
    until(lambda: bool(_list(administrator.send("GET", path)["data"])), within_s=_WITHIN_S, every_s=_EVERY_S)


def _wait_for_offers(person: Person) -> None:
    me = person.send("GET", "/users/loggedInUser")["id"]
    path = f"/users/{me}/recommendations"
    until(lambda: bool(_list(person.send("GET", path)["data"])), within_s=_WITHIN_S, every_s=_EVERY_S)


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def _photograph(url: str, passwords: dict[str, str], names: list[str]) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for look in LOOKS:
            for reader in (DEMO_PERSON, ADMINISTRATOR):
                shots = {name: PAGES[name] for name in names if name in PAGES and PAGES[name].reader == reader}
                with _tab_of(browser, url, PEOPLE[reader], passwords[reader], look) as tab:
                    for name, shot in shots.items():
                        _photograph_page(tab, shot, PICTURES / f"{name}{look.suffix}.png")
        if TUTORIAL in names:
            with _tab_of(browser, url, PEOPLE[ADMINISTRATOR], passwords[ADMINISTRATOR], LOOKS[0]) as tab:
                _photograph_tutorial(tab)
        browser.close()


def _photograph_tutorial(tab: Page) -> None:
    """Take the pictures of the tutorial, once the backtest beside the form has ended."""
    tab.goto("/")
    _settle(tab)
    for name in steps_of_tutorial(tab):
        if tab.get_by_role("heading", name="If it had been on for 90 days").count():
            tab.get_by_text(_BACKTESTED).first.wait_for(timeout=_WITHIN_S * 1_000)
        _settle(tab)
        tab.screenshot(path=PICTURES / f"{name}.png", animations="disabled")


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


def _photograph_page(tab: Page, shot: Shot, picture: Path) -> None:
    """Take a picture once the page has what it asked for."""
    tab.goto(shot.address)
    _settle(tab)
    if shot.press and (shot.is_pressed_on_phone or tab.viewport_size == DESK):
        tab.click(shot.press)
        _settle(tab)
    tab.screenshot(path=picture, animations="disabled")


def _settle(tab: Page) -> None:
    tab.locator("main h1:visible").first.wait_for()
    tab.wait_for_function("() => !document.querySelector('[aria-busy=\"true\"]')")
    tab.wait_for_timeout(700)  # what opens later than the rest: graphs


if __name__ == "__main__":
    main()
