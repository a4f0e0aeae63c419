"""Measures of the web application on a slow line and a slow machine: ``python -m tests.docs.web_measures``.

Opens pages in Chromium with 50 kB/s, 400 ms and a fourth of the machine's speed, and prints a table: first contentful
paint, when the frame and the page's heading are there, what was transferred, layout shift, the slowest interaction
until its paint, and memory after an hour of live events, shortened. Starts the sample company of the pictures;
``--server URL --password PASSWORD`` uses one that runs; ``--rows 10000`` instead scrolls through an inbox of so many
rows. Next: ``web_scroll.py``.
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, sync_playwright
from tests.browser.conftest import CHROMIUM
from tests.docs.web_day import API, ORDERS
from tests.docs.web_pictures import DESK, PEOPLE, company
from tests.docs.web_scroll import scroll_inbox

READER = "dana.whitlock"
PAGES = {
    "home": "/",
    "inbox": "/inbox",
    "explore": "/explore?q=orders",
    "asset": f"/table/{ORDERS}",
    "lineage": f"/table/{ORDERS}/lineage",
    "alerts": "/alerts",
}
FLAGS = ["--no-sandbox", "--disable-gpu"]
BYTES_PER_S, LATENCY_MS, SLOWER = 50_000, 400, 4
MESSAGES, EVERY_MS = 600, 100
"""Live events of an hour, one in six seconds, and how soon they follow each other here."""
_WATCH = """
const seen = (window.seen = {shift: 0, slowest: 0, frame: null, heading: null});
new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
  if (!entry.hadRecentInput) seen.shift += entry.value;
})).observe({type: 'layout-shift', buffered: true});
new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
  if (entry.interactionId) seen.slowest = Math.max(seen.slowest, entry.duration);
})).observe({type: 'event', durationThreshold: 16, buffered: true});
new MutationObserver(() => {
  seen.frame ??= document.querySelector('nav') && performance.now();
  seen.heading ??= document.querySelector('main h1') && performance.now();
}).observe(document, {childList: true, subtree: true});
"""
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


class Loaded(NamedTuple):
    """A first load over the slow line: milliseconds since it began, bytes as transferred, layout shift."""

    page: str
    paint_ms: float
    frame_ms: float
    heading_ms: float
    transferred: int
    shift: float


class Used(NamedTuple):
    """Interactions on the slow machine: the slowest until its paint, and the heap before and after live events."""

    slowest_ms: float
    heap_before: int
    heap_after: int


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server")
    parser.add_argument("--password")
    parser.add_argument("--rows", type=int)
    options = parser.parse_args()
    if options.rows:
        _measure_rows(options.rows)
        return
    if options.server:
        _measure(options.server, options.password)
        return
    with tempfile.TemporaryDirectory(prefix="tocsin-measures-") as folder, company(Path(folder)) as (url, passwords):
        _measure(url, passwords[READER])


def _measure_rows(count: int) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        scrolled = scroll_inbox(browser, count)
        browser.close()
    sys.stdout.write(
        f"{scrolled.row_count} rows, at most {scrolled.most_elements} in the document; {scrolled.frames} frames, "
        f"median {scrolled.median_ms:.1f} ms, 99th of a hundred {scrolled.slow_ms:.0f} ms; {scrolled.long_tasks} "
        f"tasks of more than 50 ms, the longest {scrolled.longest_task_ms:.0f} ms; load {scrolled.load:.0f}\n"
    )


def _measure(url: str, password: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        loads = [_load(browser, url, password, name) for name in PAGES]
        use = _use(browser, url, password)
        sys.stdout.write("\n".join(_lines(loads, use, browser.version)) + "\n")
        browser.close()


def _load(browser: Browser, url: str, password: str, name: str) -> Loaded:
    with _context(browser, url, password) as context:
        tab = context.new_page()
        devtools = _slow(context, tab)
        sizes: list[int] = []
        devtools.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
        tab.goto(PAGES[name], wait_until="commit")
        tab.locator("main h1").first.wait_for(timeout=60_000)
        until_heading = sum(sizes)
        tab.wait_for_timeout(3_000)  # what comes later may still shift it
        paint = tab.evaluate(_PAINT)
        watch = tab.evaluate("window.seen")
    return Loaded(name, paint, watch["frame"], watch["heading"], until_heading, watch["shift"])


def _use(browser: Browser, url: str, password: str) -> Used:
    with _context(browser, url, password) as context:
        tab = context.new_page()
        devtools = context.new_cdp_session(tab)
        tab.goto("/inbox")
        tab.get_by_role("navigation", name="Main").wait_for()
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        for _ in range(3):
            _interact(tab)
        slowest = tab.evaluate("window.seen.slowest")
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": 1})
        before = _heap(devtools)
        tab.evaluate(
            """async ([messages, everyMs]) => {
              const {userId} = await (await fetch('/api/v1/auth/session')).json();
              const channel = new BroadcastChannel(`tocsin.live.${userId}`);
              for (let sent = 0; sent < messages; sent += 1) {
                channel.postMessage({kind: 'notification', data: {}});
                await new Promise((done) => setTimeout(done, everyMs));
              }
            }""",
            [MESSAGES, EVERY_MS],
        )
        return Used(slowest, before, _heap(devtools))


def _interact(tab: Page) -> None:
    """Do what people do most: move between pages and rows, open the bell, search."""
    navigation = tab.get_by_role("navigation", name="Main")
    for name in ("Home", "Explore", "Following", "Inbox"):
        navigation.get_by_role("link", name=name).first.click()
        tab.locator("main h1").first.wait_for()
    for key in ("j", "j", "k"):
        tab.keyboard.press(key)
    tab.get_by_role("button", name="Notifications").click()
    tab.get_by_role("dialog", name="Notifications").wait_for()
    tab.keyboard.press("Escape")
    tab.keyboard.press("Control+k")
    tab.get_by_role("combobox").press_sequentially("orders")
    tab.keyboard.press("Escape")
    tab.wait_for_timeout(500)  # entries of events come after their paint


@contextmanager
def _context(browser: Browser, url: str, password: str) -> Iterator[BrowserContext]:
    context = browser.new_context(base_url=url, viewport=DESK)
    body = {"email": PEOPLE[READER], "password": base64.b64encode(password.encode()).decode()}
    answer = context.request.post(f"{API}/auth/session", data=body, headers={"Origin": url})
    assert answer.ok, answer.text()
    context.add_init_script(_WATCH)
    yield context
    context.close()


def _slow(context: BrowserContext, tab: Page) -> CDPSession:
    devtools = context.new_cdp_session(tab)
    devtools.send("Network.enable")
    line = {"offline": False, "latency": LATENCY_MS, "downloadThroughput": BYTES_PER_S, "uploadThroughput": BYTES_PER_S}
    devtools.send("Network.emulateNetworkConditions", line)
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    return devtools


def _heap(devtools: CDPSession) -> int:
    devtools.send("HeapProfiler.collectGarbage")
    return int(devtools.send("Runtime.getHeapUsage")["usedSize"])


def _lines(loads: Sequence[Loaded], use: Used, version: str) -> Iterator[str]:
    yield f"Chromium {version}, {BYTES_PER_S // 1000} kB/s, {LATENCY_MS} ms, CPU {SLOWER} times slower"
    yield ""
    yield "| page | first paint, s | frame, s | heading, s | transferred, kB | layout shift |"
    yield "|---|---|---|---|---|---|"
    for load in loads:
        times = " | ".join(f"{ms / 1000:.1f}" for ms in (load.paint_ms, load.frame_ms, load.heading_ms))
        yield f"| {load.page} | {times} | {load.transferred / 1000:.0f} | {load.shift:.3f} |"
    yield ""
    yield f"Slowest interaction until its paint: {use.slowest_ms:.0f} ms."
    before, after = use.heap_before / 1e6, use.heap_after / 1e6
    yield f"Heap before and after {MESSAGES} live events: {before:.1f} and {after:.1f} MB."


if __name__ == "__main__":
    main()
