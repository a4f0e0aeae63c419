"""Tests of a store that was filled before large documents became differences: it is read as it is, and written anew."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Engine, MetaData, func, insert, select, text
from tests.store.catalogues import JANE, company
from tests.store.event_documents import assert_records_are_the_same
from tests.store.large import change_word, create

from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.entities.history import History
from tocsin.store.database.engine import is_sqlite
from tocsin.store.database.schema import migrate
from tocsin.store.database.snapshots import Texts
from tocsin.store.database.tables import METADATA, change_event, document_snapshot, entity_version
from tocsin.store.eventlog.log import EventLog
from tocsin.store.upkeep.fsck.inspection import inspect

BEFORE = "0003_notified"


@pytest.fixture
def older(unmigrated_engine: Engine) -> Engine:
    """Return an empty store of the revision before."""
    migrate(unmigrated_engine, BEFORE)
    return unmigrated_engine


def test_an_older_store_is_read_as_it_is_and_written_as_differences(sqlite_engine: Engine, older: Engine) -> None:
    shop = company(sqlite_engine)
    key = Key.by_id(create(shop, 50_000).document["id"])
    for number in range(3):
        change_word(shop, key.id or "", number, "older")
    _fill(older, sqlite_engine)
    migrate(older)
    assert _difference_count(older, entity_version) == _difference_count(older, change_event) == 0

    reader, log = History(older), EventLog(older)
    assert [one.event.to_json() for one in log.read(0, 1_000)] == [
        logged_event.event.to_json() for logged_event in EventLog(sqlite_engine).read(0, 1_000)
    ]
    assert_records_are_the_same(older)
    for version in ("0.1", "0.2", "0.3", "0.4"):
        assert reader.version("table", key, version) == History(sqlite_engine).version("table", key, version)

    writes = Writes(SqlCatalogue(older), SystemClock())
    writes.rollback("table", key, Decimal("0.1"), actor=JANE)
    writes.follow("table", key.id or "", shop.ids["jane"], actor=JANE)
    newest, first = reader.newest("table", key), reader.version("table", key, "0.1")
    assert (newest["version"], newest["columns"]) == (0.5, first["columns"])
    assert (
        _difference_count(older, entity_version),
        _difference_count(older, change_event),
        _difference_count(older, document_snapshot),
    ) == (1, 2, 1)
    assert inspect(older, deep=True).counts == {}


def _difference_count(engine: Engine, table: Any) -> int:
    """Return how many rows are differences, or snapshots."""
    query = select(func.count()).select_from(table)
    if table is not document_snapshot:
        query = query.where(table.c.difference.is_not(None))
    with engine.connect() as connection:
        return int(connection.execute(query).scalar_one())


def _fill(older: Engine, newer: Engine) -> None:
    """Copy every row of a store, with whole documents, into a store of the revision before."""
    older_schema = MetaData()
    with older.begin() as into, newer.connect() as source:
        older_schema.reflect(into)
        texts = Texts(source)
        for table in METADATA.sorted_tables:
            if table.name not in older_schema.tables:
                continue
            columns = older_schema.tables[table.name].columns.keys()
            values = [
                {name: getattr(row, name) for name in columns} | _text(texts, row)
                for row in source.execute(select(table))
            ]
            into.execute(table.delete())
            if values:
                into.execute(insert(older_schema.tables[table.name]), values)
        if not is_sqlite(into):
            last = into.execute(select(func.max(change_event.c.log_offset))).scalar_one()
            into.execute(text("SELECT setval('change_event_log_offset_seq', :last)"), {"last": last})


def _text(texts: Texts, row: Any) -> dict[str, str]:
    return {"document": texts.of(row)} if hasattr(row, "difference") else {}
