"""Every page of the web application, in both themes, judged by axe-core; and its width on the narrowest phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.serving import Served, table, warehouse

AXE = Path(__file__).resolve().parents[2] / "web/node_modules/axe-core/axe.min.js"
ADDRESSES = (
    "/",
    "/inbox",
    "/explore",
    "/explore?q=orders",
    "/following",
    "/alerts",
    "/alerts/new",
    "/alerts/ActivityFeedAlert",
    "/alerts/templates",
    "/incidents",
    "/changes",
    "/changes/new",
    "/components",
    "/events",
    "/events/sql",
    "/governance",
    "/governance/glossaries",
    "/governance/rights",
    "/admin",
    "/admin/people",
    "/admin/bots",
    "/settings/notifications",
    "/settings/sessions",
    "/table/warehouse.shop.public.orders",
    "/table/warehouse.shop.public.orders/activity",
    "/table/warehouse.shop.public.orders/lineage",
    "/table/warehouse.shop.public.orders/versions",
    "/table/warehouse.shop.public.orders/discussion",
    "/alerts/no-such-alert",
)
NARROWEST = 320
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

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make web-check gets it (Node 20.19)"),
]


def test_no_page_has_a_fault_that_axe_finds_or_is_wider_than_a_phone(browser: Browser, served: Served) -> None:
    """In the dark theme only what colours decide is judged again."""
    with served.administrator() as client:
        warehouse(client)
        table(client, "customers", description="Who **buys**.")
    context = browser.new_context(base_url=served.url)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("button", name="Log in", exact=True).wait_for()
    faults = [f"log-in: {fault}" for fault in _faults_on(page)]
    log_in_as_administrator(page, served)
    for address in ADDRESSES:
        page.goto(address)
        page.locator("main h1").first.wait_for()
        page.wait_for_load_state("networkidle")
        faults += [f"{address}: {fault}" for fault in _faults_on(page)]
        page.set_viewport_size({"width": NARROWEST, "height": 800})
        if page.evaluate("document.documentElement.scrollWidth") > NARROWEST:
            faults.append(f"{address}: wider than {NARROWEST} px")
        page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("/components")
    page.get_by_role("button", name="Open a dialog").wait_for()
    page.wait_for_load_state("networkidle")
    faults += [f"/components: {fault}" for fault in _faults_by_keyboard(page)]
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
    """Return what axe-core finds on a page in both themes: rule, and the first elements concerned."""
    page.evaluate(AXE.read_text())
    violations = page.evaluate("async () => (await axe.run({resultTypes: ['violations']})).violations")
    page.emulate_media(color_scheme="dark")
    violations += page.evaluate(
        "async () => (await axe.run({runOnly: ['color-contrast'], resultTypes: ['violations']})).violations"
    )
    page.emulate_media(color_scheme="light")
    return [
        f"{violation['id']}: {', '.join(str(node['target'][0]) for node in violation['nodes'][:3])}"
        for violation in violations
    ]
