"""Tests that entities are looked up by type and name without reading through all of their type."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Connection, Engine, event, insert

from tocsin.model.notification import ReasonKind
from tocsin.store.catalogue.relations.ancestry import ancestor_entities
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import entity
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.recipients.subject_assets import find_subject_assets

ENTITIES = {
    "s": ("databaseService", "pg"),
    "d": ("database", "pg.shop"),
    "p": ("databaseSchema", "pg.shop.public"),
    "t1": ("table", "pg.shop.public.orders"),
    "t2": ("table", "pg.shop.public.prices"),
    "c1": ("testCase", "pg.shop.public.orders.unique"),
    "c2": ("testCase", "pg.shop.public.prices.unique"),
    "ana": ("user", "ana"),
    "ben": ("user", "ben"),
}


def _tables_of_tests(connection: Connection) -> dict[str, str]:
    return dict(find_subject_assets(connection, {"c1", "c2"}).items())


def _containers(connection: Connection) -> set[str]:
    entries = {"t1": ENTITIES["t1"], "t2": ENTITIES["t2"]}
    return {one.id for many in ancestor_entities(connection, entries).values() for one in many}


def _people(connection: Connection) -> set[str]:
    people = SqlDirectory(connection.engine).principals_named(ReasonKind.USER, {"ana", "ben"})
    return {person.principal_id for person in people}


@pytest.mark.parametrize(
    ("look_up", "expected"),
    [(_tables_of_tests, {"c1": "t1", "c2": "t2"}), (_containers, {"s", "d", "p"}), (_people, {"ana", "ben"})],
)
def test_a_name_of_a_type_is_sought_in_the_index(
    store_engine: Engine, look_up: Callable[[Connection], object], expected: object
) -> None:
    columns = {"version_tenths": 1, "updated_at_ms": 1, "updated_by": "ana", "document": "{}"}
    parents = {"d": "s", "p": "d", "t1": "p", "t2": "p"}
    with writing(store_engine) as connection:
        for entity_id, (kind, fqn) in ENTITIES.items():
            name, parent = fqn.rpartition(".")[2], parents.get(entity_id)
            row = {"id": entity_id, "entity_type": kind, "fqn": fqn, "name": name, "parent_id": parent, **columns}
            connection.execute(insert(entity).values(row))
    statements: list[tuple[str, object]] = []

    def note(_connection: object, _cursor: object, sql: str, parameters: object, *_rest: object) -> None:
        statements.append((sql, parameters))

    event.listen(store_engine, "before_cursor_execute", note)
    with reading(store_engine) as connection:
        assert look_up(connection) == expected
    event.remove(store_engine, "before_cursor_execute", note)
    if store_engine.dialect.name != "sqlite":
        return
    with store_engine.connect() as connection:
        plans = [
            str(row[3])
            for sql, parameters in statements
            if sql.startswith("SELECT")
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", parameters)  # type: ignore[arg-type]
        ]
    assert [line for line in plans if "(entity_type=?)" in line or line.startswith("SCAN entity")] == []
