"""Tables with large documents: many columns, each with a description of its own."""

from __future__ import annotations

from random import Random
from typing import Any

from sqlalchemy import Engine
from tests.store.catalogues import JANE, Company

from tocsin.model.stored import Key, Written
from tocsin.store.database.engine import is_sqlite

_WORDS = tuple(
    "".join(Random(number).choices("abcdefghijklmnopqrstuvwxyz", k=3 + number % 8)) for number in range(2_000)
)
_COLUMN_BYTES = 400
_TABLES = ("entity", "entity_version", "change_event", "document_snapshot")


def words(chance: Random, count: int = 45) -> str:
    """Return a text of words by chance."""
    return " ".join(chance.choices(_WORDS, k=count))


def columns(length: int, *, seed: int = 1) -> list[dict[str, Any]]:
    """Return columns that come to about ``length`` bytes of JSON."""
    chance = Random(seed)
    return [
        {"name": f"c{number:05}", "dataType": "VARCHAR", "dataLength": 80, "description": words(chance)}
        for number in range(length // _COLUMN_BYTES)
    ]


def create(shop: Company, length: int, *, name: str = "wide") -> Written:
    """Create a table of about ``length`` bytes."""
    return shop.writes.create("table", shop.table(name, columns=columns(length)), actor=JANE)


def change_word(shop: Company, table_id: str, column: int, word: str) -> Written:
    """Change the first word of a column's description; a table with fewer columns counts on from its first."""
    key = Key.by_id(table_id)
    columns = shop.catalogue.get("table", key, include="all")["columns"]
    column %= len(columns)
    text = columns[column].get("description", "")
    operation = {
        "op": "add",
        "path": f"/columns/{column}/description",
        "value": " ".join([word, *text.split()[1:]]),
    }
    return shop.writes.patch("table", key, [operation], actor=JANE)


def store_bytes(engine: Engine) -> int:
    """Return the bytes of the store after what it does by itself: a checkpoint, or a vacuum."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if not is_sqlite(connection):
            connection.exec_driver_sql(f"VACUUM {', '.join(_TABLES)}")
            sizes = (f"pg_total_relation_size('{name}')" for name in _TABLES)
            return int(connection.exec_driver_sql(f"SELECT {' + '.join(sizes)}").scalar_one())
    with engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages, page_bytes = (raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        return int(pages * page_bytes)
