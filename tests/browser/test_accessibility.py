"""Every page of the web application, in both themes, judged by axe-core; and its width on the narrowest phone.

The addresses come from the router; the tabs of a page are visited after it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from sqlalchemy import Engine
from tests.browser.stories import tell
from tests.company import SmallCompany
from tests.entries import entry_of
from tests.notifying import notify_all
from tests.serving import Served, warehouse

from tocsin.store.catalogue.search.writes import SearchWrites

AXE = Path(__file__).resolve().parents[2] / "web/node_modules/axe-core/axe.min.js"
ROUTES = Path(__file__).resolve().parents[2] / "web/src/app/routes.ts"
ORDERS = "/table/pg.store.public.orders"
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "/inbox/:id": ("/inbox/{entry}", "/inbox/no-such-entry"),
    "/searches/:id": ("/searches/{search}", "/searches/no-such-search"),
    "/incidents/:number": ("/incidents/INC-1", "/incidents/INC-9"),
    "/settings/:page": ("/settings/notifications", "/settings/no-such-page"),
    "/events/:id": ("/events/{event}", "/events/no-such-event"),
    "/governance/:part": ("/governance/teams",),
    "/governance/:part/:fqn": (
        "/governance/teams/tills",
        "/governance/roles/DataConsumer",
        "/governance/policies/DataConsumerPolicy",
        "/governance/classifications/PII",
        "/governance/domains/no-such-domain",
    ),
    "/admin/:part": ("/admin/people", "/admin/no-such-page"),
    "/changes/:number": ("/changes/CR-1", "/changes/CR-9"),
    "/alerts/:name/edit": ("/alerts/Broken/edit",),
    "/alerts/:name": ("/alerts/Broken", "/alerts/no-such-alert"),
    "/alerts/:name/:tab": ("/alerts/Broken/history",),
    "/:type/:fqn": (ORDERS, "/pipeline/airflow.load", "/user/ana", "/team/shop", "/table/no.such.table"),
    "/:type/:fqn/:tab": (f"{ORDERS}/activity", "/pipeline/airflow.load/tests", f"{ORDERS}/no-such-part"),
    "/:type/:fqn/:tab/:range": (f"{ORDERS}/versions/0.1..0.2",),
}
"""Addresses of the pages that the router has under names; the tabs that those show are visited, too."""
MORE = ("/explore?q=orders", "/explore?q=no-such-name", "/incidents?state=resolved", "/no-such-page")
NARROWEST = 320
_GROUPS = 4
_CONTROLS = """() => {
  const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')];
  const reachable = all.filter((each) => !each.disabled && each.tabIndex >= 0 && each.checkVisibility());
  return reachable.map((each, number) => {
    each.dataset.number = number;
    return each.outerHTML.slice(0, 120);
  });
}"""
_STOP = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const look = getComputedStyle(element);
  const around = getComputedStyle(element.parentElement);
  const isVisible = [look, around].some((each) => each.outlineStyle !== 'none' && parseFloat(each.outlineWidth) > 0);
  return { number: Number(element.dataset.number ?? -1), text: element.outerHTML.slice(0, 120), isVisible };
}"""

_COUNT_REQUESTS = """
const send = window.fetch;
window.requestsUnderWay = 0;
window.fetch = (...request) => {
  window.requestsUnderWay += 1;
  return send(...request).finally(() => setTimeout(() => (window.requestsUnderWay -= 1), 20));
};
"""
_GO = """(address) => {
  history.pushState(null, '', address);
  dispatchEvent(new PopStateEvent('popstate'));
  return new Promise((go) => requestAnimationFrame(() => setTimeout(go, 50)));
}"""
"""Shows another page without loading the application again, as a link does; the page before is gone at once."""
_IS_SETTLED = "() => document.querySelector('main h1') && !window.requestsUnderWay"
_TABS = """() =>
  [...document.querySelectorAll('main nav:has([aria-current]) a[href^="/"]')].map((each) => each.getAttribute('href'))
"""


def _paths() -> list[str]:
    """Return the paths of the router, with names in place of what varies."""
    return re.findall(r"path: '([^']+)'", ROUTES.read_text())


def _addresses() -> list[str]:
    return [address for path in _paths() for address in EXAMPLES.get(path, (path,))] + list(MORE)


def _section_of(address: str) -> str:
    return re.split(r"[/?]", address)[1] or "home"


def _groups_of_sections() -> list[tuple[str, ...]]:
    """Return the sections in few groups of about equal size: each group has a company of its own."""
    sections = sorted({_section_of(address) for address in _addresses()})
    return [tuple(sections[start::_GROUPS]) for start in range(_GROUPS)]


pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make web-check gets it (Node 20.19)"),
]


def test_every_page_that_has_a_name_in_its_address_has_an_example() -> None:
    assert {path for path in _paths() if ":" in path} == set(EXAMPLES)


@pytest.mark.parametrize("sections", _groups_of_sections(), ids=" ".join)
def test_no_page_has_a_fault_that_axe_finds_or_is_wider_than_a_phone(
    browser: Browser, served: Served, sqlite_engine: Engine, sections: tuple[str, ...]
) -> None:
    """In the dark theme only what colours decide is judged again."""
    ids = _company(served, sqlite_engine)
    context = browser.new_context(base_url=served.url)
    context.add_init_script(_COUNT_REQUESTS)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("button", name="Log in", exact=True).wait_for()
    page.evaluate(AXE.read_text())
    faults = [f"log-in: {fault}" for fault in _faults_on(page)]
    log_in_as_administrator(page, served)
    waiting = [address.format(**ids) for address in _addresses() if _section_of(address) in sections]
    visited_addresses: set[str] = set()
    while waiting:
        address = waiting.pop()
        visited_addresses.add(address)
        page.evaluate(_GO, address)
        page.wait_for_function(_IS_SETTLED)
        faults += [f"{address}: {fault}" for fault in _faults_on(page)]
        waiting += [tab for tab in page.evaluate(_TABS) if tab not in visited_addresses and tab not in waiting]
    context.close()
    assert not faults, "\n".join(faults)


def test_every_component_is_reached_by_tab_and_shows_that_it_is(browser: Browser, served: Served) -> None:
    context = browser.new_context(base_url=served.url)
    page = context.new_page()
    page.goto("/")
    log_in_as_administrator(page, served)
    page.goto("/components")
    page.get_by_role("button", name="Open a dialog").wait_for()
    page.wait_for_load_state("networkidle")
    faults = _faults_by_keyboard(page)
    context.close()
    assert not faults, "\n".join(faults)


def log_in_as_administrator(page: Page, served: Served) -> None:
    """Log in by the form, as people do."""
    page.get_by_label("E-mail or name").fill("admin@tocsin.example.org")
    page.get_by_label("Password").fill(served.password)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_role("navigation").first.wait_for()


def _faults_by_keyboard(page: Page) -> list[str]:
    """Return which controls Tab does not reach, and where it does not show that it has."""
    controls = page.evaluate(_CONTROLS)
    stops: list[dict[str, Any]] = []
    while True:
        page.keyboard.press("Tab")
        stop = page.evaluate(_STOP)
        if stop is None or (len(stops) > 1 and stop["number"] == stops[0]["number"]):
            break  # a field of a time is several stops
        stops.append(stop)
    reached = {stop["number"] for stop in stops}
    faults = [f"not reached by Tab: {text}" for number, text in enumerate(controls) if number not in reached]
    return faults + [f"no visible focus: {stop['text']}" for stop in stops if not stop["isVisible"]]


def _faults_on(page: Page) -> list[str]:
    """Return what axe-core finds on a page in both themes, by rule and first elements; and whether it is too wide."""
    violations = page.evaluate("async () => (await axe.run({resultTypes: ['violations']})).violations")
    page.emulate_media(color_scheme="dark")
    violations += page.evaluate(
        "async () => (await axe.run({runOnly: ['color-contrast'], resultTypes: ['violations']})).violations"
    )
    page.emulate_media(color_scheme="light")
    faults = [
        f"{violation['id']}: {', '.join(str(node['target'][0]) for node in violation['nodes'][:3])}"
        for violation in violations
    ]
    page.set_viewport_size({"width": NARROWEST, "height": 800})
    is_too_wide = page.evaluate("document.documentElement.scrollWidth") > NARROWEST
    page.set_viewport_size({"width": 1280, "height": 900})
    return faults + [f"wider than {NARROWEST} px"] * is_too_wide


def _company(served: Served, engine: Engine) -> dict[str, str]:
    """Write what the pages show; return the ids that addresses name."""
    company = SmallCompany(engine)
    company.describe("orders", "What was **bought**.")
    company.pipeline("load")
    to = {"category": "Owners", "type": "ActivityFeed"}
    company.alert("Broken", [to], "pipelineStatus == 'Failed'", poll_interval_s=0)
    company.run("load", "Failed")
    notify_all(engine)
    with served.administrator() as client:
        me = client.get("/users/loggedInUser").json()["id"]
        saved_search = client.post(f"/users/{me}/searches", json={"query": "orders"})
        assert saved_search.status_code == 201, saved_search.text
        entity = {"type": "table", "fullyQualifiedName": "pg.store.public.orders"}
        body = {"entity": entity, "kind": "removal", "column": "email", "date": int(time.time() * 1000) + 86_400_000}
        assert client.post("/changes", json=body | {"why": "It moves."}).status_code == 201
        SearchWrites(engine).put([entry_of("table", warehouse(client))])
        event = tell(served, engine, me, "customers")
        entry = client.get(f"/users/{me}/notifications").json()["data"][0]["id"]
    return {"search": saved_search.json()["search"]["id"], "event": event, "entry": entry}
