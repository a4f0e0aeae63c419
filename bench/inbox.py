"""Benchmark of an inbox with 100,000 notifications of one person: pages of its tabs, and counts.

Two fifths are unread, the others read, done, saved or snoozed; some are parts of wholes, some are due later. The floor
is the bare look-up of as many notifications by their ids. SQLite, and PostgreSQL if it is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

from sqlalchemy import Engine, select

from bench.filling import event_id, fill_log, hurrying
from bench.measured import Measurement, Report, p95_ms, scale_count
from bench.running import empty_stores
from tocsin.model.causes import gather_causes
from tocsin.model.inbox import MOST_COUNTED, Tab
from tocsin.model.inbox_filter import EntryFilter
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import notification
from tocsin.store.outbox.inbox import Inbox, InboxCursor, PageOf

NOTIFICATION_COUNT, READ_COUNT = 100_000, 200
OWNER = "00000000-0000-4000-9000-000000000001"
_NOW_MS, _PAGE_LENGTH, _AIM = 2_000_000_000_000, 20, "20"
_FILL = """
INSERT INTO notification (id, event_id, log_offset, channel, recipient, recipient_id, reasons, due_at_ms, created_at_ms,
    read_at_ms, done_at_ms, saved_at_ms, snoozed_until_ms, whole_id, need)
SELECT 'n' || substr(id, 2), id, log_offset, 'ActivityFeed', 'ana', '{owner}', '[]',
    CASE WHEN log_offset % 100 = 99 THEN {later_ms} ELSE 1 END, 1,
    CASE WHEN log_offset % 10 >= 4 AND log_offset % 100 <> 99 THEN 5 END,
    CASE WHEN log_offset % 10 >= 8 AND log_offset % 100 <> 99 THEN 5 END,
    CASE WHEN log_offset % 20 = 5 THEN 5 END,
    CASE WHEN log_offset % 40 = 6 THEN {later_ms} END,
    CASE WHEN log_offset % 200 < 5 AND log_offset > 1000
        THEN substr(id, 1, 24) || {hex} END,
    CASE WHEN log_offset % 500 = 7 THEN 'breaking' END
FROM change_event
"""
_HEX = {
    "sqlite": "printf('%012x', log_offset - log_offset % 200 - 100)",
    "postgresql": "lpad(to_hex(log_offset - log_offset % 200 - 100), 12, '0')",
}


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure on each store that is there."""
    count, reads = scale_count(NOTIFICATION_COUNT, scale, least=2_000), scale_count(READ_COUNT, scale, least=20)
    measurements: list[Measurement] = []
    with ExitStack() as stack:
        for store, url in empty_stores(stack):
            engine = open_engine(url)
            stack.callback(engine.dispose)
            migrate(engine)
            fill_log(engine, 0, count, report)
            fill_inbox(engine)
            floor = p95_ms(partial(_bare_page, engine, count), reads)
            for name, read in _reads(Inbox(engine), count):
                figure = p95_ms(read, reads)
                measurements.append(Measurement("inbox", f"{name}, p95, {store}", figure, "ms", floor, reads, _AIM))
    return measurements


def fill_inbox(engine: Engine) -> None:
    """Notify one person of every event of a filled log."""
    values = {"owner": OWNER, "later_ms": 2 * _NOW_MS, "hex": _HEX[engine.dialect.name]}
    with hurrying(engine) as run:
        run(_FILL.format(**values))
        run("ANALYZE")


def _reads(inbox: Inbox, count: int) -> Iterator[tuple[str, Callable[[], object]]]:
    for tab in Tab:
        yield f"page of {tab}", partial(inbox.page, OWNER, _NOW_MS, limit=_PAGE_LENGTH, kind=PageOf(tab))
    deep = InboxCursor(read=True, log_offset=count // 3)
    yield "page of all, far down", partial(inbox.page, OWNER, _NOW_MS, limit=_PAGE_LENGTH, after=deep)
    yield "page of causes", partial(_page_of_causes, inbox)
    yield "count of what needs one", partial(_needs, inbox)
    yield "counts", partial(inbox.counts, OWNER, _NOW_MS)
    yield "what is snoozed and due", partial(inbox.wake, _NOW_MS, [OWNER])


def _page_of_causes(inbox: Inbox) -> None:
    """Gather the first entries by cause, and read the documents of as many as a page shows."""
    heads = inbox.heads(OWNER, _NOW_MS, limit=MOST_COUNTED, kind=PageOf()).heads
    gather_causes(head.facts for head in heads)
    inbox.led_entries_of(OWNER, _NOW_MS, [head.id for head in heads[:_PAGE_LENGTH]])


def _needs(inbox: Inbox) -> None:
    """Gather what needs the person, and whether it still does."""
    kind = PageOf(entry_filter=EntryFilter(needs_me=True))
    heads = inbox.heads(OWNER, _NOW_MS, limit=MOST_COUNTED, kind=kind).heads
    inbox.open_needs([head.id for head in heads])


def _bare_page(engine: Engine, count: int) -> None:
    ids = [f"n{event_id(count - place)[1:]}" for place in range(_PAGE_LENGTH)]
    with engine.connect() as connection:
        connection.execute(select(notification).where(notification.c.id.in_(ids))).all()
