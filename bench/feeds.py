"""Benchmark of the activity feed of a person who follows 5,000 assets, in a log of 1,000,000 events of 20,000 assets.

The floor is the bare look-up of as many events by their offsets. SQLite, and PostgreSQL if it is installed.
Next: ``bench/inbox.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

from sqlalchemy import Engine, select

from bench.filling import ENTITY_COUNT, FIRST_MS, fill_log, hurrying
from bench.measured import Measurement, Report, p95_ms, scale_count
from bench.running import empty_stores
from tocsin.model.activity_feed import FeedScope
from tocsin.store.database.engine import open_engine, reading
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import change_event
from tocsin.store.eventlog.activity import Activity, FeedPage

EVENT_COUNT, FOLLOWED_COUNT, READ_COUNT = 1_000_000, 5_000, 100
OWNER = "00000000-0000-4000-9000-000000000001"
_PAGE_LENGTH, _AIM = 50, "50"
_ASSETS = """
INSERT INTO entity (id, entity_type, fqn, name, version_tenths, updated_at_ms, updated_by, deleted, document)
SELECT entity_id, 'table', 'pg.store.public.' || entity_id, entity_id, 1, 1, 'ana', {no}, '{{}}'
FROM (SELECT DISTINCT entity_id FROM change_event) AS changed
"""
_FOLLOWS = """
INSERT INTO follow (entity_id, user_id, entity_type)
SELECT id, '{owner}', 'table' FROM entity ORDER BY fqn LIMIT {count}
"""
_NO = {"sqlite": "0", "postgresql": "false"}


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure on each store that is there."""
    event_count = scale_count(EVENT_COUNT, scale, least=2_000)
    followed_count, reads = scale_count(FOLLOWED_COUNT, scale, least=50), scale_count(READ_COUNT, scale, least=20)
    measurements: list[Measurement] = []
    with ExitStack() as stack:
        for store, url in empty_stores(stack):
            engine = open_engine(url)
            stack.callback(engine.dispose)
            migrate(engine)
            fill_log(engine, 0, event_count, report)
            follow_assets(engine, min(followed_count, ENTITY_COUNT))
            floor = p95_ms(partial(_bare_page, engine, event_count), reads)
            for name, read in _reads(Activity(engine), event_count):
                figure, name = p95_ms(read, reads), f"{name} of {followed_count:,} assets, p95, {store}"
                measurements.append(Measurement("feeds", name, figure, "ms", floor, reads, _AIM))
    return measurements


def follow_assets(engine: Engine, count: int) -> None:
    """Make the tables that the events of a filled log are about, and let one person follow so many of them."""
    with hurrying(engine) as run:
        run(_ASSETS.format(no=_NO[engine.dialect.name]))
        run(_FOLLOWS.format(owner=OWNER, count=count))
        run("ANALYZE")


def _reads(activity: Activity, event_count: int) -> Iterator[tuple[str, Callable[[], object]]]:
    pages = {
        "newest page": FeedPage(limit=_PAGE_LENGTH),
        "page far down": FeedPage(limit=_PAGE_LENGTH, below=event_count // 3),
        "page of a day": FeedPage(limit=_PAGE_LENGTH, since_ms=FIRST_MS + event_count - 1_000),
    }
    for name, page in pages.items():
        yield name, partial(_checked_page, activity, page)


def _checked_page(activity: Activity, page: FeedPage) -> None:
    entries = activity.of_person(OWNER, page, FeedScope.ALL)
    if not entries:
        raise AssertionError("the feed of who follows assets that change is empty")


def _bare_page(engine: Engine, event_count: int) -> None:
    offsets = [event_count - place for place in range(_PAGE_LENGTH)]
    with reading(engine) as connection:
        connection.execute(select(change_event).where(change_event.c.log_offset.in_(offsets))).all()
