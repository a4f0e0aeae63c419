"""New names of labels, which a rename gives to whatever carries them without a version: kept for earlier versions.

A version keeps the names of its time. Next: ``store/catalogue/entities/history.py``,
``store/catalogue/search/writes.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, insert, select, update

from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.labels import LabelNames, rename_labels
from tocsin.model.stored import Relabelling, Stored
from tocsin.store.database.documents import tenths_of
from tocsin.store.database.entity_tables import relabelling, renaming
from tocsin.store.database.keys import rows_by_key

_RELABELLING = relabelling.c
_COLUMNS = (_RELABELLING.entity_id, _RELABELLING.log_offset, _RELABELLING.version_tenths, _RELABELLING.names)
_FQN = "fullyQualifiedName"


@dataclass(frozen=True)
class NewNames:
    """New names of an entity's labels, given by the event at an offset to its version of that time."""

    log_offset: int
    version_tenths: int
    names: LabelNames


class RenamingRows:
    """The rows of a transaction that renames, until the event of what it renames has an offset."""

    def __init__(self) -> None:
        self._roots: dict[str, dict[str, object]] = {}
        self._by_root: dict[str, list[dict[str, object]]] = defaultdict(list)

    def add_root(self, entity: Stored, new_fqn: str) -> None:
        """Note that an entity has a new name."""
        key = {"entity_type": entity.entity_type, "entity_id": entity.id}
        self._roots[entity.id] = {**key, "old_fqn": entity.fqn, "new_fqn": new_fqn}

    def add(self, entity: Stored, change: Relabelling) -> None:
        """Note that labels of an entity have new names."""
        names = [[source, old, new] for (source, old), new in sorted(change.names.items())]
        row = {
            "entity_id": entity.id,
            "version_tenths": tenths_of(entity.document["version"]),
            "at_ms": change.at_ms,
            "names": orjson.dumps(names).decode(),
        }
        self._by_root[change.root_id].append(row)

    def write(self, connection: Connection, events: Iterable[tuple[int, ChangeEvent]]) -> None:
        """Store what was noted, at the offsets of the events of what was renamed."""
        for at, event in events if self._roots else ():
            change = event.change_description
            if event.entity_id in self._roots and change is not None and _FQN in change.paths():
                root, relabellings = self._roots.pop(event.entity_id), self._by_root.pop(event.entity_id, [])
                connection.execute(insert(renaming).values(root | {"log_offset": at}))
                if relabellings:
                    connection.execute(insert(relabelling), [row | {"log_offset": at} for row in relabellings])

    def clear(self) -> None:
        """Forget what was noted: it was taken back."""
        self._roots.clear()
        self._by_root.clear()


def new_names(connection: Connection, entity_ids: Collection[str]) -> dict[str, list[NewNames]]:
    """Return what labels of these entities were renamed to, oldest first; without those that never were."""
    by_entity: dict[str, list[NewNames]] = defaultdict(list)
    query = select(*_COLUMNS).order_by(_RELABELLING.log_offset)
    for row in rows_by_key(connection, query, _RELABELLING.entity_id, entity_ids):
        by_entity[row.entity_id].append(_new_names(row))
    return by_entity


def with_new_names(document: Document, later: Sequence[NewNames]) -> Document:
    """Return a version of an entity under the names that its labels got at that version or after it."""
    version = tenths_of(document["version"])
    for names in (one.names for one in later if one.version_tenths >= version):
        document = rename_labels(document, names)
    return document


def as_called(connection: Connection, document: Document, *, at_ms: int | None = None) -> Document:
    """Return a version of an entity under the names that its labels had at a moment; without one, those of now."""
    query = select(*_COLUMNS).where(_RELABELLING.entity_id == document["id"]).order_by(_RELABELLING.log_offset)
    if at_ms is not None:
        query = query.where(_RELABELLING.at_ms <= at_ms)
    return with_new_names(document, [_new_names(row) for row in connection.execute(query)])


def version_rewritten(connection: Connection, entity_id: str, tenths: int) -> None:
    """Note that a version is written anew, with the names of now: only those before it still have earlier ones."""
    is_it = _RELABELLING.entity_id == entity_id, _RELABELLING.version_tenths == tenths
    connection.execute(update(relabelling).where(*is_it).values(version_tenths=tenths - 1))


def ids_with_renamed_labels(connection: Connection, after: int, through: int) -> list[str]:
    """Return the ids of the entities that carry a label renamed by an event in (after, through], in their order."""
    between = _RELABELLING.log_offset > after, _RELABELLING.log_offset <= through
    query = select(_RELABELLING.entity_id).where(*between).distinct().order_by(_RELABELLING.entity_id)
    return list(connection.execute(query).scalars())


def _new_names(row: Any) -> NewNames:  # Any: a row of _COLUMNS
    names = {(source, old): new for source, old, new in orjson.loads(row.names)}
    return NewNames(row.log_offset, row.version_tenths, names)
