"""Look-up by any number of keys in one statement, whose text does not depend on how many there are.

A list of parameters is limited, and each length is a statement of its own. One array, on SQLite as JSON, is neither.
Next: ``store/alerts/directory.py``.
"""

from __future__ import annotations

from collections.abc import Collection

import orjson
from sqlalchemy import ColumnElement, Connection, String, cast, func, literal, select
from sqlalchemy.dialects.postgresql import ARRAY

from tocsin.store.engine import is_sqlite


def is_one_of(connection: Connection, column: ColumnElement[str], keys: Collection[str]) -> ColumnElement[bool]:
    """Return the condition that ``column`` is one of ``keys``."""
    ordered = sorted(keys)
    if is_sqlite(connection):
        listed = func.json_each(orjson.dumps(ordered).decode()).table_valued("value")
        return column.in_(select(listed.c.value))
    return column == func.any(cast(literal(ordered, ARRAY(String)), ARRAY(String)))
