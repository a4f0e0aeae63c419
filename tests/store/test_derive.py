"""Tests of the backfill of derived fields in old events."""

from __future__ import annotations

from sqlalchemy import Engine, select, update
from tests.store.catalogues import ORDERS, company
from tests.store.paths import furnish

from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.documents import from_text, to_text
from tocsin.store.engine import reading, writing
from tocsin.store.eventlog.derive import derive_missing
from tocsin.store.tables import change_event

_OURS = ("changeCategory", "changeOperation", "changeTarget", "changes", "unchangedFor")


def test_events_without_what_is_known_today_get_it_once(store_engine: Engine) -> None:
    shop = company(store_engine)
    furnish(shop)
    shop.clock.advance(3_600_000)
    shop.patch(("add", "/columns/1/tags", [{"tagFQN": "PII.Contact"}]))
    shop.clock.advance(60_000)
    shop.writes.follow("table", shop.ids["orders"], shop.ids["jane"], actor=SYSTEM)
    shop.clock.advance(60_000)
    shop.writes.delete("table", Key.by_name(ORDERS), actor=SYSTEM)
    with writing(store_engine) as connection:
        before = {row.id: from_text(row.derived) for row in connection.execute(select(change_event))}
        for event_id, derived in before.items():
            bare = {key: value for key, value in derived.items() if key not in _OURS}
            row = update(change_event).where(change_event.c.id == event_id)
            connection.execute(row.values(derived=to_text(bare)))
    assert {derived["unchangedFor"] for derived in before.values()} == {None, 0, 3_600_000, 60_000, 120_000}
    assert derive_missing(store_engine) == len(before)
    with reading(store_engine) as connection:
        after = {row.id: from_text(row.derived) for row in connection.execute(select(change_event))}
    assert after == before
    assert derive_missing(store_engine) == 0
