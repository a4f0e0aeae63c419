"""Conditions for looking entities up by their type and full names, or ids, that SQLite answers by seeking each.

Next: ``store/recipients/directory.py``, ``store/catalogue/relations/ancestry.py``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, false, true

from tocsin.store.database.tables import entity

PRESENT_OR_DELETED = entity.c.deleted.in_((false(), true()))
"""True of every entity. Beside a type and several names, it lets SQLite seek each name in the index of pages, (type,
deleted, name, id); without it SQLite reads all of the type there, because that index has all columns of the answer.
"""


def is_of_type(entity_type: ColumnElement[Any], name: str) -> ColumnElement[bool]:  # Any: a column of an alias
    """Return the condition that entities, or events of them, which are looked up by ids are of a type.

    It is written so that no index answers it: SQLite would read all of the type rather than seek the ids.
    """
    return entity_type.concat("") == name
