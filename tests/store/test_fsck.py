"""Tests of fsck: a sound store has no findings, and every kind of damage is found and, where possible, repaired."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, ColumnElement, Connection, Engine, Table, delete, func, insert, select, text, update
from tests.store.catalogues import JANE, ORDERS, Company, company
from tests.store.paths import furnish

from tocsin.catalogue.replay import replay
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database import tables
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.upkeep.fsck.finding import Damage
from tocsin.store.upkeep.fsck.inspection import Inspection, inspect, repair

_SAMPLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "bqetl_sample" / "states.jsonl"
_NOBODY = "00000000-0000-4000-8000-00000000dead"

Breaking = Callable[[Connection, Company], object]


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    furnish(sample_company)
    sample_company.patch(("add", "/description", "x"))
    sample_company.writes.follow("table", sample_company.ids["orders"], sample_company.ids["jane"], actor=JANE)
    return sample_company


def _found_damages(inspection: Inspection) -> list[str]:
    return [f"{one.damage.value}: {one.where}: {one.problem}" for one in inspection.findings]


def test_a_store_that_everything_went_from_is_sound(shop: Company, store_engine: Engine) -> None:
    for entity_type, fqn in _ALL:
        shop.writes.delete(entity_type, Key.by_name(fqn), actor=JANE, recursive=True, hard=True)
    inspection = inspect(store_engine, deep=True)
    assert _found_damages(inspection) == []
    with store_engine.connect() as connection:
        remaining = list(connection.execute(select(tables.entity.c.entity_type, tables.entity.c.fqn)))
    assert remaining == []


_ALL = [
    *(("databaseService", "pg"), ("dashboardService", "bi"), ("pipelineService", "airflow")),
    *(("glossary", "Business"), ("glossary", "Finance"), ("classification", "PII"), ("classification", "Law")),
    *(("dataProduct", "basket"), ("domain", "commerce"), ("team", "sales")),
    *(("testDefinition", "notNull"), ("testDefinition", "hasRows"), ("type", "integer")),
    *(("user", name) for name in ("jane", '"john.doe"', "robot")),
]


@pytest.mark.skipif(not _SAMPLE.is_file(), reason="the real histories (shared/data) are not beside this repository")
@pytest.mark.soak_on_postgresql
def test_a_store_with_a_real_history_is_sound(store_engine: Engine) -> None:
    writes = Writes(SqlCatalogue(store_engine), SystemClock())
    for _ in replay(writes, _SAMPLE, _SAMPLE.with_name("lineage.jsonl")):
        pass
    progress: list[tuple[int, int]] = []
    inspection = inspect(store_engine, lambda done, total: progress.append((done, total)), deep=True)
    assert _found_damages(inspection) == []
    assert progress[-1][0] == progress[-1][1] > inspection.row_counts["change_event"] > 300


def _execute(statement: str) -> Breaking:
    return lambda connection, shop: connection.execute(text(statement.format(**shop.ids)))


def _insert(table: Table, **row: object) -> Breaking:
    return lambda connection, _shop: connection.execute(insert(table), row)


def _rename(connection: Connection, shop: Company) -> None:
    document = tables.entity.c.document
    moved = {"fqn": "elsewhere.orders", "document": _replacement(document, ORDERS, "elsewhere.orders")}
    connection.execute(update(tables.entity).where(tables.entity.c.id == shop.ids["orders"]).values(moved))
    versions = update(tables.entity_version).where(tables.entity_version.c.entity_id == shop.ids["orders"])
    version_document = tables.entity_version.c.document
    connection.execute(versions.values(document=_replacement(version_document, ORDERS, "elsewhere.orders")))


def _orphan(connection: Connection, shop: Company) -> None:
    schema = shop.ids["public"]
    for table, key in ((tables.entity, tables.entity.c.id), (tables.entity_version, tables.entity_version.c.entity_id)):
        deletion: dict[str, Any] = {"document": func.replace(table.c.document, '"deleted":false', '"deleted":true')}
        deletion |= {"deleted": True} if table is tables.entity else {}
        connection.execute(update(table).where(key == schema).values(deletion))


def _replacement(column: Column[str], old: str, new: str) -> ColumnElement[str]:
    return func.replace(column, f'"fullyQualifiedName":"{old}"', f'"fullyQualifiedName":"{new}"')


_ORDERS_EVENT = "entity_id = '{orders}' AND event_type = 'entityUpdated' AND document LIKE '%\"currentVersion\"\\:0.2%'"


def _notified_twice(connection: Connection, shop: Company) -> None:
    _execute(
        "INSERT INTO change_event SELECT 999999, 'twice', event_type, entity_type, entity_id, entity_fqn, "
        "user_name, timestamp_ms, document, derived, document_bytes, snapshot_id, difference, reason FROM change_event "
        f"WHERE {_ORDERS_EVENT}"
    )(connection, shop)
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT setval('change_event_log_offset_seq', 999999)")


DAMAGES: list[tuple[str, Breaking, set[Damage]]] = [
    (
        "an event is lost",
        _execute(f"DELETE FROM change_event WHERE {_ORDERS_EVENT}"),
        {Damage.VERSION_WITHOUT_EVENT, Damage.EVENT_OUT_OF_ORDER},
    ),
    (
        "a version is lost",
        _execute("DELETE FROM entity_version WHERE entity_id = '{orders}' AND version_tenths = 2"),
        {Damage.EVENT_WITHOUT_VERSION, Damage.VERSION_GAP},
    ),
    (
        "a version nobody wrote",
        _execute(
            "INSERT INTO entity_version SELECT entity_id, 40, updated_at_ms, document, document_bytes, snapshot_id, "
            "difference, reason FROM entity_version WHERE entity_id = '{orders}' AND version_tenths = 3"
        ),
        {Damage.VERSION_WITHOUT_EVENT, Damage.VERSION_GAP, Damage.WRONG_COLUMN},
    ),
    (
        "an event twice",
        _notified_twice,
        {Damage.EVENT_OUT_OF_ORDER, Damage.WRONG_COLUMN},
    ),
    (
        "an event that cannot be read",
        _execute(f"UPDATE change_event SET document = '[1' WHERE {_ORDERS_EVENT}"),
        {Damage.UNREADABLE, Damage.VERSION_WITHOUT_EVENT, Damage.EVENT_OUT_OF_ORDER},
    ),
    (
        "a version that cannot be read",
        _execute("UPDATE entity_version SET document = '' WHERE entity_id = '{orders}' AND version_tenths = 2"),
        {Damage.UNREADABLE},
    ),
    (
        "an entity that cannot be read",
        _execute("UPDATE entity SET document = '{{' WHERE id = '{orders}'"),
        {Damage.UNREADABLE},
    ),
    (
        "an entity of an older version",
        _execute(
            "UPDATE entity SET document = (SELECT document FROM entity_version v WHERE v.entity_id = entity.id "
            "AND v.version_tenths = 2) WHERE id = '{orders}'"
        ),
        {Damage.NOT_NEWEST},
    ),
    (
        "an entity that was changed behind the catalogue's back",
        _execute("UPDATE entity SET document = REPLACE(document, '\"x\"', '\"y\"') WHERE id = '{orders}'"),
        {Damage.NOT_NEWEST},
    ),
    ("an entity under another name than its parent's", _rename, {Damage.WRONG_NAME}),
    ("an entity under one that is deleted", _orphan, {Damage.ORPHANED}),
    (
        "a column that lies",
        _execute("UPDATE entity SET deleted = (1 = 1), parent_id = NULL WHERE id = '{orders}'"),
        {Damage.WRONG_COLUMN},
    ),
    ("an owner is forgotten", _execute("DELETE FROM ownership WHERE owner_id = '{jane}'"), {Damage.WRONG_ROWS}),
    (
        "a tag too many",
        _execute("INSERT INTO entity_tag (entity_id, tag_fqn) VALUES ('{orders}', 'No.Tag')"),
        {Damage.WRONG_ROWS},
    ),
    ("a domain is forgotten", lambda c, _: c.execute(delete(entity_reference)), {Damage.WRONG_ROWS}),
    ("a person is forgotten", _execute("DELETE FROM person WHERE user_id = '{jane}'"), {Damage.WRONG_ROWS}),
    (
        "rows of nobody",
        _insert(tables.ownership, entity_id=_NOBODY, owner_id="x", owner_type="user"),
        {Damage.DANGLING},
    ),
    (
        "an owner vanishes",
        _execute("DELETE FROM entity WHERE id = '{jane}'"),
        {Damage.DANGLING},
    ),
    (
        "a follower who is nobody",
        _execute(f"UPDATE follow SET user_id = '{_NOBODY}'"),
        {Damage.DANGLING},
    ),
    (
        "an edge into nothing",
        _insert(tables.lineage_edge, from_id=_NOBODY, to_id=_NOBODY, from_type="table", to_type="table", details="[]"),
        {Damage.DANGLING},
    ),
    (
        "a notification of no event",
        _insert(
            tables.notification,
            **{"id": "n", "event_id": "e", "log_offset": 1, "channel": "x", "recipient": "x", "reasons": "[]"},
            **{"due_at_ms": 1, "created_at_ms": 1},
        ),
        {Damage.DANGLING},
    ),
    (
        "a reader beyond the end of the log",
        _insert(tables.pipeline_progress, query_name="match", log_offset=10**9, updated_at_ms=1),
        {Damage.WRONG_OFFSET},
    ),
]


def test_before_the_damage_there_is_none(shop: Company, store_engine: Engine) -> None:
    assert _found_damages(inspect(store_engine)) == []


@pytest.mark.parametrize(("breaking", "damages"), [row[1:] for row in DAMAGES], ids=[row[0] for row in DAMAGES])
def test_damage_is_found_and_named(
    shop: Company, store_engine: Engine, breaking: Breaking, damages: set[Damage]
) -> None:
    with store_engine.begin() as connection:
        breaking(connection, shop)
    inspection = inspect(store_engine)
    assert set(inspection.counts) == damages, _found_damages(inspection)
    assert all(one.damage.mend and one.where and one.problem for one in inspection.findings)


@pytest.mark.parametrize(
    "damage_name",
    [
        "an owner is forgotten",
        "a tag too many",
        "a person is forgotten",
        "rows of nobody",
        "a column that lies",
        "a domain is forgotten",
    ],
)
def test_what_documents_say_can_be_mended(shop: Company, store_engine: Engine, damage_name: str) -> None:
    breaking = next(row[1] for row in DAMAGES if row[0] == damage_name)
    with store_engine.begin() as connection:
        breaking(connection, shop)
    assert repair(store_engine, inspect(store_engine).repairable) > 0
    assert _found_damages(inspect(store_engine)) == []


def test_a_version_that_its_events_do_not_make_is_found_by_a_deep_look(shop: Company, store_engine: Engine) -> None:
    with store_engine.begin() as connection:
        for table, key in (("entity", "id"), ("entity_version", "entity_id")):
            change = "SET document = REPLACE(document, '\"x\"', '\"y\"')"
            connection.execute(text(f"UPDATE {table} {change} WHERE {key} = '{shop.ids['orders']}'"))
    assert inspect(store_engine).counts == {}
    assert set(inspect(store_engine, deep=True).counts) == {Damage.NOT_REBUILT}


Hurting = tuple[str, str, str]
"""What is done to the store, and then: in which table, and of which column, the finding must be."""

HURT: list[Hurting] = [
    ("UPDATE entity SET document = '{{\"id\"' WHERE id = '{orders}'", "entity {orders}", "document"),
    ("UPDATE entity_version SET document = '' WHERE entity_id = '{orders}'", "entity_version {orders} 1", "document"),
    ("UPDATE change_event SET derived = '[1' WHERE entity_id = '{orders}'", "change_event ", "derived"),
    ("UPDATE change_event SET document = 'null' WHERE entity_id = '{orders}'", "change_event ", ""),
]
ON_SQLITE: list[Hurting] = [
    (f"UPDATE {table} SET {column} = {value} WHERE {key} = '{{orders}}'", f"{table} {where}", column)
    for table, key, where, column in (
        ("entity", "id", "{orders}", "document"),
        ("entity", "id", "{orders}", "fqn"),
        ("entity_version", "entity_id", "{orders} 1", "document"),
        ("change_event", "entity_id", "", "document"),
        ("change_event", "entity_id", "", "derived"),
        ("change_event", "entity_id", "", "event_type"),
    )
    for value in ("CAST(x'7b22ff22' AS TEXT) || rowid", "x'00ff'")
] + [
    (f"UPDATE {table} SET {column} = 'soon' WHERE {key} = '{{orders}}'", f"{table} {{orders}}", column)
    for table, key, column in (
        ("entity", "id", "updated_at_ms"),
        ("entity", "id", "deleted"),
        ("entity_version", "entity_id", "updated_at_ms"),
        ("follow", "entity_id", "since_offset"),
    )
]


def _furnished_shop(engine: Engine) -> Company:
    sample_company = company(engine)
    furnish(sample_company)
    sample_company.writes.follow("table", sample_company.ids["orders"], sample_company.ids["jane"], actor=JANE)
    return sample_company


@pytest.mark.parametrize("hurting", HURT, ids=lambda one: one[0][:60])
def test_a_value_that_cannot_be_read_is_named_and_ends_nothing(
    shop: Company, store_engine: Engine, hurting: Hurting
) -> None:
    statement, where, column = (one.format(**shop.ids) for one in hurting)
    with store_engine.begin() as connection:
        connection.exec_driver_sql(statement.replace("%", "%%"))
    damages = _found_damages(inspect(store_engine, deep=True))
    assert [one for one in damages if where in one and (f"column {column}:" in one or not column)], damages


@pytest.mark.parametrize("hurting", ON_SQLITE, ids=lambda one: one[0][:70])
def test_what_sqlite_keeps_in_a_column_that_is_not_of_its_kind_is_named(
    sqlite_engine: Engine, hurting: Hurting
) -> None:
    shop = _furnished_shop(sqlite_engine)
    statement, where, column = (one.format(**shop.ids) for one in hurting)
    with sqlite_engine.begin() as connection:
        connection.exec_driver_sql(statement)
    damages = _found_damages(inspect(sqlite_engine, deep=True))
    assert [one for one in damages if one.startswith(f"unreadable value: {where}") and f"column {column}:" in one], (
        damages
    )
    "\n".join(damages).encode()  # fit to be printed
    inspect(sqlite_engine)  # without --deep it does not end either


def test_a_broken_page_is_named_and_the_rest_is_looked_at(sqlite_engine: Engine) -> None:
    _furnished_shop(sqlite_engine)
    path = str(sqlite_engine.url.database)
    with sqlite_engine.connect() as connection:
        connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
        (page,) = connection.execute(text("SELECT rootpage FROM sqlite_master WHERE name = 'follow'")).one()
        connection.rollback()
        connection.execute(text("DELETE FROM person"))
        connection.commit()
        connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
    sqlite_engine.dispose()
    with Path(path).open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 100)
    inspection = inspect(sqlite_engine, deep=True)
    assert inspection.counts[Damage.BROKEN_PAGE]
    assert [one for one in inspection.findings if one.damage == Damage.UNREADABLE and one.where == "follow"]
    assert inspection.counts[Damage.WRONG_ROWS], "that there is no person is found all the same"


def test_a_sequence_behind_the_log_is_found(postgres_engine: Engine) -> None:
    _furnished_shop(postgres_engine)
    with postgres_engine.begin() as connection:
        connection.exec_driver_sql("SELECT setval('change_event_log_offset_seq', 2)")
    damages = _found_damages(inspect(postgres_engine))
    assert [one for one in damages if "change_event_log_offset_seq" in one], damages
