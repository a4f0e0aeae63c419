"""Tests of which keys some row has: the same on both stores, and one look-up per key, however many rows have it."""

from __future__ import annotations

from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, insert

from tocsin.store.database import keys
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.keys import present_keys
from tocsin.store.database.tables import change_event

FEW, MANY = (str(UUID(int=number)) for number in (1, 2))


def fill(engine: Engine) -> None:
    """Write one event of an entity, and many of another."""
    of_all = {
        "entity_type": "table",
        "event_type": "entityUpdated",
        "timestamp_ms": 1,
        "document": "{}",
        "derived": "{}",
    }
    with writing(engine) as connection:
        event_rows = [
            {"log_offset": number, "id": str(UUID(int=number)), "entity_id": entity_id, **of_all}
            for number, entity_id in enumerate([FEW] + [MANY] * 2_000, start=1)
        ]
        connection.execute(insert(change_event), event_rows)


def step_count(connection: Connection, entity_id: str) -> int:
    """Return how many steps SQLite takes to look up one entity."""
    steps = list[int]()
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.set_progress_handler(lambda: steps.append(1), 1)
    try:
        assert present_keys(connection, change_event.c.entity_id, [entity_id]) == {entity_id}
    finally:
        driver.set_progress_handler(None, 0)
    return len(steps)


def test_keys_of_rows_are_found_in_portions(store_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "KEYS_PER_STATEMENT", 2)
    fill(store_engine)
    absent_ids = [str(UUID(int=number)) for number in range(10, 15)]
    with reading(store_engine) as connection:
        assert present_keys(connection, change_event.c.entity_id, [MANY, *absent_ids, FEW]) == {FEW, MANY}
        assert present_keys(connection, change_event.c.entity_id, []) == set()


def test_a_key_that_many_rows_have_costs_as_much_as_one_that_one_has(sqlite_engine: Engine) -> None:
    fill(sqlite_engine)
    with reading(sqlite_engine) as connection:
        assert step_count(connection, MANY) < 2 * step_count(connection, FEW)
