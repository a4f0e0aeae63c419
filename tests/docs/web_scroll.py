"""Measure of a long inbox: a person with 10,000 notifications scrolls through all of them in Chromium.

Fills an empty store, serves it from this process, and loads page after page by scrolling to the end; then scrolls from
the top through every row. Next: ``web_measures.py``, which prints it with ``--rows``.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.filling import hurrying
from playwright.sync_api import Browser, Page
from sqlalchemy import Engine
from tests.docs.web_day import JSON_PATCH
from tests.serving import Served, running_server, warehouse

from tocsin.server.bootstrap import ADMINISTRATOR
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate

STEP_PX = 200
"""How far each frame scrolls: some three rows."""
_COPY = """
INSERT INTO change_event (log_offset, id, event_type, entity_type, entity_id, entity_fqn, user_name, timestamp_ms,
    document, derived)
WITH RECURSIVE places(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM places WHERE n < {count})
SELECT log_offset + n, substr(id, 1, 24) || printf('%012x', n), event_type, entity_type, entity_id, entity_fqn,
    user_name, timestamp_ms - n * 60000, replace(document, id, substr(id, 1, 24) || printf('%012x', n)), derived
FROM places, (SELECT * FROM change_event ORDER BY log_offset DESC LIMIT 1)
"""
_TELL = """
INSERT INTO notification (id, event_id, log_offset, channel, recipient, recipient_id, reasons, due_at_ms,
    created_at_ms, need)
SELECT 'n' || substr(id, 2), id, log_offset, 'ActivityFeed', 'admin', '{person}', '[]', 1, 1, 'breaking'
FROM (SELECT * FROM change_event ORDER BY log_offset DESC LIMIT {count})
"""
_LOAD = """
async () => {
  const list = document.querySelector('section.list');
  let [height, still] = [0, 0];
  while (still < 100) {
    list.scrollTop = list.scrollHeight;
    await new Promise((done) => setTimeout(done, 50));
    still = list.scrollHeight === height ? still + 1 : 0;
    height = list.scrollHeight;
  }
}
"""
_SCROLL = """
async (step) => {
  const list = document.querySelector('section.list');
  const seen = {frames: [], tasks: [], most: 0, rows: 0};
  const keys = new Set();
  const watch = new PerformanceObserver((entries) =>
    entries.getEntries().forEach(({duration}) => seen.tasks.push(duration)));
  watch.observe({type: 'longtask'});
  list.scrollTop = 0;
  const frame = () => new Promise(requestAnimationFrame);
  let before = await frame();
  while (list.scrollTop + list.clientHeight < list.scrollHeight - 1) {
    list.scrollTop += step;
    const now = await frame();
    seen.frames.push(now - before);
    before = now;
    const there = list.querySelectorAll('[data-row]');
    seen.most = Math.max(seen.most, there.length);
    for (const row of there) keys.add(row.dataset.row);
  }
  watch.disconnect();
  return {...seen, rows: keys.size};
}
"""


class Scrolled(NamedTuple):
    """Frames of a way through a list: the median and the 99th of a hundred, and tasks of more than 50 ms."""

    row_count: int
    most_elements: int
    frames: int
    median_ms: float
    slow_ms: float
    long_tasks: int
    longest_task_ms: float
    load: float


def scroll_inbox(browser: Browser, count: int) -> Scrolled:
    """Return what was measured of an inbox with ``count`` rows that need their person."""
    with tempfile.TemporaryDirectory(prefix="tocsin-rows-") as folder, _serve(Path(folder), count) as served:
        context = browser.new_context(base_url=served.url, viewport={"width": 1440, "height": 900})
        body = {"email": ADMINISTRATOR["email"], "password": served.password}
        assert context.request.post("/api/v1/auth/session", data=body, headers={"Origin": served.url}).ok
        tab = context.new_page()
        tab.goto("/inbox")
        tab.locator("[data-row]").first.wait_for(timeout=60_000)
        scrolled = _scroll(tab)
        context.close()
    return scrolled


def _scroll(tab: Page) -> Scrolled:
    tab.set_default_timeout(0)
    tab.evaluate(_LOAD)
    answer = tab.evaluate(_SCROLL, STEP_PX)
    frames, tasks = sorted(answer["frames"]), answer["tasks"]
    median, slow = frames[len(frames) // 2], frames[int(len(frames) * 0.99)]
    figures = (len(frames), median, slow, len(tasks), max(tasks, default=0))
    return Scrolled(answer["rows"], answer["most"], *figures, load=os.getloadavg()[0])


@contextmanager
def _serve(folder: Path, count: int) -> Iterator[Served]:
    """Serve a store in which the administrator has ``count`` notifications that need them."""
    engine = open_engine(f"sqlite:///{folder / 'tocsin.db'}", synchronous="OFF")
    migrate(engine)
    with running_server(engine) as served:
        with served.administrator() as client:
            person = client.get("/users/loggedInUser").json()["id"]
            orders = warehouse(client)
            removal = [{"op": "remove", "path": "/columns/1"}]
            patched = client.patch(f"/tables/{orders['id']}", json=removal, headers=JSON_PATCH)
            assert patched.status_code == 200, patched.text
        _tell(engine, person, count)
        yield served
    engine.dispose()


def _tell(engine: Engine, person: str, count: int) -> None:
    """Copy the newest event, the removal of a column, and tell a person of each copy."""
    with hurrying(engine) as run:
        run(_COPY.format(count=count))
        run(_TELL.format(person=person, count=count))
        run("ANALYZE")
