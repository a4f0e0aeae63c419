"""Tests of what a write says to the store: each statement of it is a round trip on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, event
from tests.store.catalogues import JANE, Company, company

from tocsin.catalogue.writes import BulkWrites
from tocsin.model.stored import Key
from tocsin.store.database import bulk, statements


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


def _statements_of(write: Callable[[], object], engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the statements of a write, each by its first words, without begin, commit and how a connection begins."""
    texts: list[str] = []
    by_driver = statements.by_driver

    def note(connection: Any, sql: str, do: Any) -> Any:  # Any: as ``by_driver`` takes them
        texts.append(sql)
        return by_driver(connection, sql, do)

    listener = ("before_cursor_execute", lambda _connection, _cursor, sql, *_rest: texts.append(sql))
    with monkeypatch.context() as patches:
        for module in (statements, bulk):
            patches.setattr(module, "by_driver", note)
        event.listen(engine, *listener)
        write()
        event.remove(engine, *listener)
    return [" ".join(sql.split()[:3]) for sql in texts if not sql.startswith(("BEGIN", "PRAGMA"))]


def test_a_patch_asks_twice_and_writes_its_rows(
    shop: Company, store_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.patch(("add", "/description", "What was sold"))
    heads = _statements_of(lambda: shop.patch(("add", "/description", "Sold")), store_engine, monkeypatch)
    assert heads[0] == "SELECT entity.id, entity.entity_type,"
    assert heads[1].startswith("SELECT above.fqn,")
    assert (
        heads[2:]
        == {
            "sqlite": [
                "UPDATE entity SET",
                "INSERT INTO entity_version",
                "INSERT INTO change_event",
                "SELECT entity.id FROM",
            ],
            "postgresql": ["WITH changed AS", "INSERT INTO change_event"],
        }[store_engine.dialect.name]
    )


def test_a_put_asks_for_the_parent_as_well(
    shop: Company, store_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.writes.upsert("table", shop.table(description="What was sold"), actor=JANE)
    request = shop.table(description="Sold")
    heads = _statements_of(lambda: shop.writes.upsert("table", request, actor=JANE), store_engine, monkeypatch)
    assert len(heads) == {"sqlite": 7, "postgresql": 5}[store_engine.dialect.name]


def test_a_bulk_request_of_many_rows_is_as_many_statements_as_one_of_few(
    shop: Company, store_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def heads_of(count: int, description: str) -> list[str]:
        many = BulkWrites(shop.catalogue, shop.clock)
        requests = [shop.table(f"{count} {at}", description=description) for at in range(count)]
        return _statements_of(lambda: many.put("table", requests, actor=JANE), store_engine, monkeypatch)

    added, changed = ["entity", "entity_version", "change_event"], ["entity_version", "change_event"]
    for tables, description in ((added, "Old"), (changed, "New")):
        few, many = heads_of(2, description), heads_of(120, description)
        assert len(many) == len(few) + 1, "the event of the import says what its container inherits"
        copied = [head.split()[1] for head in many if head.startswith("COPY")]
        assert copied == ([] if store_engine.dialect.name == "sqlite" else tables)


def test_a_write_finds_out_what_its_entity_refers_to_that_is_deleted(shop: Company, store_engine: Engine) -> None:
    owners = [shop.writes.create("user", {"name": name, "email": f"{name}@x.org"}, actor=JANE) for name in ("u1", "u2")]
    deleted_id, live_id = (one.document["id"] for one in owners)
    shop.patch(("add", "/owners", [{"type": "user", "id": one} for one in (deleted_id, live_id)]))
    shop.writes.delete("user", Key.by_id(deleted_id), actor=JANE)
    written = shop.patch(("add", "/description", "Sold"))
    schema_id = written.document["databaseSchema"]["id"]
    assert {one: written.deletedness[one] for one in (deleted_id, live_id, schema_id)} == {
        deleted_id: True,
        live_id: False,
        schema_id: False,
    }
