"""Columns of an asset: those of tables, and their counterparts in other types.

Columns are named by FQN: the asset's, then the names of the enclosing columns and of the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tocsin.errors import InvalidInput
from tocsin.model import fqn as names
from tocsin.model.entity import Document
from tocsin.model.entity_type import Path, value_at
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import hint

_OTHER_MEMBERS = frozenset({"pipeline"})
"""Types whose members are no columns: tasks."""

COLUMN_LISTS: dict[str, tuple[Path, ...]] = {
    name: tuple(row.member_paths) for name, row in ENTITY_TYPES.items() if row.members and name not in _OTHER_MEMBERS
}
"""Per type, the paths of the lists that hold its columns."""


def column_fqns(entity_type: str, fqn: str, document: Document) -> set[str]:
    """Return the FQN of every column of an asset, nested ones included; none for a type without columns."""
    fqns: set[str] = set()
    for path in COLUMN_LISTS.get(entity_type, ()):
        fqns.update(_below(fqn, value_at(document, path)))
    return fqns


def relative_fqns_by_spelling(entity_type: str, fqn: str, document: Document) -> dict[str, str]:
    """Return the path of every column, its FQN below the asset's, by that path and by its names with dots between.

    The second is how profilers and links write it.
    """
    paths = [one.removeprefix(f"{fqn}.") for one in column_fqns(entity_type, fqn, document)]
    return {".".join(names.split(path)): path for path in paths} | {path: path for path in paths}


def path_below(column_fqn: str, asset_fqn: str) -> str:
    """Return the FQN of a column below that of its asset, which may have another name since."""
    return names.join(names.split(column_fqn)[len(names.split(asset_fqn)) :])


def missing_column(fqn: str, column: object, names: Iterable[str], *, field: str) -> InvalidInput:
    """Return the refusal of a column that an asset has not, with the nearest of those it has."""
    return InvalidInput(f"{fqn} has no column {column}{hint(column, names)}", field=field)


def changed_columns(entity_type: str, fqn: str, paths: Iterable[tuple[str, object]]) -> set[str]:
    """Return the FQNs of the columns that field changes, each a path with its values, are about."""
    fqns: set[str] = set()
    for path, value in paths:
        for columns in COLUMN_LISTS.get(entity_type, ()):
            parts = names.split(path)
            if tuple(parts[: len(columns)]) == columns:
                fqns.update(_columns_below(fqn, parts[len(columns) :], value))
    return fqns


def removed_columns(entity_type: str, deleted_fields: Iterable[tuple[str, object]]) -> set[str]:
    """Return the FQNs below that of the asset of the columns that went, by the fields deleted, each with its value."""
    paths: set[str] = set()
    for path, value in deleted_fields:
        steps = names.steps_of(path)
        for list_path in COLUMN_LISTS.get(entity_type, ()):
            below = steps[len(list_path) :]
            if tuple(steps[: len(list_path)]) != list_path or not set(below[1::2]) <= {"children"}:
                continue
            if len(below) % 2:
                paths.add(names.join(below[::2]))
            else:
                paths.update(names.join([*below[::2], column]) for column in _names_of(value))
    return paths


def _names_of(columns: object) -> Iterator[str]:
    for column in columns if isinstance(columns, list) else ():
        if isinstance(column, dict) and isinstance(column.get("name"), str):
            yield column["name"]


def _below(fqn: str, columns: object) -> Iterator[str]:
    for column in columns if isinstance(columns, list) else ():
        if isinstance(column, dict) and isinstance(column.get("name"), str):
            column_fqn = names.child(fqn, column["name"])
            yield column_fqn
            yield from _below(column_fqn, column.get("children"))


def _columns_below(fqn: str, steps: list[str], value: object) -> Iterator[str]:
    """Yield the columns that the steps below a list of columns name: ``email``, ``address.children.zip``."""
    at = fqn
    while steps:
        at = names.child(at, steps[0])
        if steps[1:2] != ["children"]:
            yield at
            return
        steps = steps[2:]
    for column in value if isinstance(value, list) else ():  # columns that came or went together
        if isinstance(column, dict) and isinstance(column.get("name"), str):
            yield names.child(at, column["name"])


def column_path_in(entity_type: str, path: str) -> str | None:
    """Return the FQN below that of the asset of the column that a path of the document leads to; None for others."""
    steps = names.steps_of(path)
    for list_path in COLUMN_LISTS.get(entity_type, ()):
        below = steps[len(list_path) :]
        if tuple(steps[: len(list_path)]) == list_path and below and set(below[1::2]) <= {"children"}:
            return names.join(below[::2])
    return None


def columns_at(entity_type: str, document: Document, column_path: str) -> dict[str, Document]:
    """Return the columns whose FQN below that of the asset is ``column_path``, by their paths in the document.

    An API endpoint may have one in its request and one in its response.
    """
    first, *steps = names.split(column_path)
    columns: dict[str, Document] = {}
    for list_path in COLUMN_LISTS.get(entity_type, ()):
        path, member = [*list_path, first], _member_named(value_at(document, list_path), first)
        for step in steps:
            path, member = [*path, "children", step], _member_named((member or {}).get("children"), step)
        if member is not None:
            columns[names.join(path)] = member
    return columns


def _member_named(columns: object, name: str) -> Document | None:
    members = (one for one in columns if isinstance(one, dict)) if isinstance(columns, list) else ()
    return next((one for one in members if one.get("name") == name), None)
