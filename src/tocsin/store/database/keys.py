"""Look-up by any number of keys in one statement, whose text depends only on whether there are several.

A list of parameters is limited, and each length is a statement of its own. One JSON array is neither, and costs the
driver less than an array of its own.
Next: ``store/recipients/directory.py``.
"""

from __future__ import annotations

from collections.abc import Collection

import orjson
from sqlalchemy import ColumnElement, Connection, cast, func, literal, select
from sqlalchemy.dialects.postgresql import JSONB

from tocsin.store.database.engine import is_sqlite


def is_one_of(connection: Connection, column: ColumnElement[str], keys: Collection[str]) -> ColumnElement[bool]:
    """Return the condition that ``column`` is one of ``keys``."""
    if len(keys) == 1:
        return column == next(iter(keys))
    listed = orjson.dumps(sorted(keys)).decode()
    if is_sqlite(connection):
        return column.in_(select(func.json_each(listed).table_valued("value").c.value))
    key = func.jsonb_array_elements_text(cast(literal(listed), JSONB)).column_valued("key")
    return column == func.any(func.array(select(key).scalar_subquery()))
