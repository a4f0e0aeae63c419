"""Tests of all writes: each makes exactly the events of its row in the table, and leaves a consistent store."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.soak import SOAK
from tests.store.catalogues import company
from tests.store.feed_paths import FEED_ROWS
from tests.store.paths import ROWS, Row, description_of, furnish
from tests.store.quality_paths import QUALITY_ROWS

from tocsin.store.upkeep.fsck.inspection import inspect

_ROWS = (*ROWS, *FEED_ROWS, *QUALITY_ROWS)


@pytest.mark.parametrize("row", _ROWS, ids=[row.step_name for row in _ROWS])
def test_a_write_leaves_exactly_its_events(store_engine: Engine, row: Row) -> None:
    shop = company(store_engine)
    furnish(shop)
    row.before(shop)
    end = shop.log.readable_end()
    row.write(shop)
    events = shop.events_after(end)
    assert [description_of(event) for event in events] == list(row.events)
    if SOAK or store_engine.dialect.name == "sqlite":  # it works out anew what is stored: the same on each store
        assert inspect(store_engine, deep=True).findings == []


def test_an_event_carries_what_the_entity_inherits_at_that_moment(store_engine: Engine) -> None:
    shop = company(store_engine)
    owner, domain = {"id": shop.ids["sales"], "type": "team"}, {"id": shop.ids["commerce"], "type": "domain"}
    shop.patch(("add", "/owners", [owner]), ("add", "/domains", [domain]), entity_type="database", fqn="pg.shop")
    end = shop.log.readable_end()
    shop.patch(("add", "/description", "x"))
    [event] = shop.events_after(end)
    assert event.domains == (shop.ids["commerce"],)
    assert event.entity is not None
    assert [(one["id"], one["inherited"]) for one in event.entity["owners"]] == [(shop.ids["sales"], True)]
    assert inspect(store_engine, deep=True).findings == []
    stored_table = shop.catalogue.version(shop.ids["orders"], "0.2")
    assert not stored_table.get("owners")
    assert not stored_table.get("domains")
