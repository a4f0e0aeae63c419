"""Inherited owners, domains and reviewers of entities, read from all their ancestors in one statement per page.

Next: ``model/inheritance.py``, which selects among them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, literal_column, select, union_all

from tocsin.chunks import chunks_of
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import Entry, Heritage, ancestors, nearest, types_above
from tocsin.store.database import tables
from tocsin.store.database.documents import reference_of
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.database.statements import Prepared

_FEW = 8


def heritage_on(connection: Connection, entries: Collection[Entry]) -> dict[Entry, Heritage]:
    """Return what each of these entities inherits if it has nothing of its own."""
    by_types: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry in entries:
        if types := types_above(entry[0]):
            by_types[types].append(entry)
    heritage: dict[Entry, Heritage] = {}
    for types, group in by_types.items():
        own_values = _own_values_at(connection, types, {above for entry in group for above in ancestors(entry)})
        heritage |= {entry: nearest(entry, own_values) for entry in group}
    return heritage


def _own_values_at(connection: Connection, types: tuple[str, ...], fqns: Iterable[str]) -> dict[str, Heritage]:
    """Return the own values of these entities, by name."""
    values: dict[str, Heritage] = defaultdict(dict)
    for chunk in chunks_of(sorted(fqns)):
        for fqn, key, *reference in _rows(connection, types, chunk):
            references: list[Document] = values[fqn].setdefault(key, [])
            references.append(reference_of(*reference))
    return values


def _rows(connection: Connection, types: tuple[str, ...], fqns: Sequence[str]) -> Iterable[Any]:  # Any: rows
    if len(fqns) > _FEW:
        return connection.execute(_STANDING, {"types": list(types), "fqns": list(fqns)})
    parameters = {f"fqn{at}": fqn for at, fqn in enumerate(fqns)}
    references: list[Any] = _few_standing(types, len(fqns)).run(connection, parameters).fetchall()
    return references


@cache
def _few_standing(types: tuple[str, ...], count: int) -> Prepared:
    """Return the statement for a few names, as each write has them."""
    return Prepared(_standing_query(types, [bindparam(f"fqn{at}") for at in range(count)]))


def _standing_query(types: Any, fqns: Any) -> Any:  # Any: what SQLAlchemy's IN takes, and its compound select
    above, target = tables.entity.alias("above"), tables.entity.alias("other")
    owner, refers = tables.ownership.c, entity_reference.c

    def rows(key: str) -> Select[Any]:  # Any: SQLAlchemy's tuple of columns
        reference = (
            target.c.id,
            target.c.entity_type,
            target.c.name,
            target.c.fqn.label("other_fqn"),
            target.c.deleted,
        )
        return select(above.c.fqn, literal_column(f"'{key}'").label("key"), *reference).where(
            above.c.entity_type.in_(
                [literal_column(f"'{one}'") for one in types] if isinstance(types, tuple) else types
            ),
            above.c.fqn.in_(fqns),
            ~target.c.deleted,
        )

    owners = rows("owners").where(owner.entity_id == above.c.id, target.c.id == owner.owner_id)
    list_queries = (
        rows(key).where(refers.entity_id == above.c.id, refers.field == key, target.c.id == refers.target_id)
        for key in ("domains", "reviewers")
        if key == "domains" or not isinstance(types, tuple) or _have_reviewers(types)
    )
    return union_all(owners, *list_queries).order_by("other_fqn")


def _have_reviewers(types: tuple[str, ...]) -> bool:
    return any("reviewers" in ENTITY_TYPES[name].keys for name in types)


_STANDING = _standing_query(bindparam("types", expanding=True), bindparam("fqns", expanding=True))
