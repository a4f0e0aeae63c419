"""Do old events get the meaning of their changes, once?"""

from __future__ import annotations

from sqlalchemy import Engine, select, update
from tests.store.catalogues import company
from tests.store.paths import furnish

from tocsin.store.documents import from_text, to_text
from tocsin.store.engine import reading, writing
from tocsin.store.eventlog.derive import derive_changes
from tocsin.store.tables import change_event

_OURS = ("changeCategory", "changeOperation", "changeTarget", "changes")


def test_events_without_meaning_get_it_once(store_engine: Engine) -> None:
    shop = company(store_engine)
    furnish(shop)
    shop.patch(("add", "/columns/1/tags", [{"tagFQN": "PII.Contact"}]))
    with writing(store_engine) as connection:
        before = {row.id: from_text(row.derived) for row in connection.execute(select(change_event))}
        for event_id, derived in before.items():
            bare = {key: value for key, value in derived.items() if key not in _OURS}
            row = update(change_event).where(change_event.c.id == event_id)
            connection.execute(row.values(derived=to_text(bare)))
    assert derive_changes(store_engine) == len(before)
    with reading(store_engine) as connection:
        after = {row.id: from_text(row.derived) for row in connection.execute(select(change_event))}
    assert after == before
    assert derive_changes(store_engine) == 0
