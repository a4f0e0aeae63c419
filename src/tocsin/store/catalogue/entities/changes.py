"""Rows written for changes of entities: entities, versions and projections, for one change or a thousand.

All changes of one call are in one transaction. Rows are inserted per table, so a thousand changes need few statements.
Next: ``store/catalogue/relations/projections.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, insert, update

from tocsin.model.stored import Stored
from tocsin.store.catalogue.access import rules_revision
from tocsin.store.catalogue.alerts.editors import note_creators
from tocsin.store.catalogue.people import tokens
from tocsin.store.catalogue.relations import projections
from tocsin.store.catalogue.relations.past import RelationChanges
from tocsin.store.database import tables
from tocsin.store.database.bulk import PreparedInsert
from tocsin.store.database.documents import Row, entity_row, to_text, version_row
from tocsin.store.database.engine import is_sqlite
from tocsin.store.database.snapshots import VERSION_TEXT, rows_to_store
from tocsin.store.database.statements import Prepared

_CHANGEABLE = (
    "parent_id",
    "version_tenths",
    "updated_at_ms",
    "updated_by",
    "updated_by_id",
    "deleted",
    "document",
    "curated",
)

_INSERT = PreparedInsert(tables.entity, ("id", "entity_type", "fqn", "name", *_CHANGEABLE))
_update = (
    update(tables.entity)
    .where(tables.entity.c.id == bindparam("new_id"))
    .values({key: bindparam(f"new_{key}") for key in _CHANGEABLE})
)
_UPDATE = Prepared(_update)
_RENAME = (
    update(tables.entity)
    .where(tables.entity.c.id == bindparam("new_id"))
    .values(fqn=bindparam("new_fqn"), name=bindparam("new_name"))
)
_VERSION = ("entity_id", "version_tenths", "updated_at_ms", "reason", *(column.name for column in VERSION_TEXT))
_INSERT_VERSION = PreparedInsert(tables.entity_version, _VERSION)
_UPDATE_WITH_VERSION = Prepared(
    insert(tables.entity_version).values({key: bindparam(key) for key in _VERSION}).add_cte(_update.cte("changed"))
)
"""Both of one change in one round trip: PostgreSQL does what is in a CTE, even if nobody reads it."""


class EntityChange(NamedTuple):
    """One change of one entity: its state before (None if it is created) and after."""

    old: Stored | None
    new: Stored

    @property
    def is_version(self) -> bool:
        """Whether it makes a version; a report, for one, does not."""
        return self.old is None or self.old.version != self.new.version


def write(connection: Connection, changes: Sequence[EntityChange], relations: RelationChanges) -> None:
    """Write the rows of these changes, which are in the order in which they happened; note their ``relations``."""
    relations.note(connection, changes)
    texts = [to_text(projections.without_memberships(change.new)) for change in changes]
    versions = [version_row(change.new, text) for change, text in zip(changes, texts, strict=True) if change.is_version]
    new_rows: dict[str, Row] = {}
    changed_rows: dict[str, Row] = {}
    renamed_rows: dict[str, Row] = {}
    for change, text in zip(changes, texts, strict=True):
        row = entity_row(change.new, text)
        if change.old is None or change.new.id in new_rows:
            new_rows[change.new.id] = row
        else:
            changed_rows[change.new.id] = row
            if change.old.fqn != change.new.fqn:
                renamed_rows[change.new.id] = row
    if new_rows:
        _INSERT.run_for(connection, list(new_rows.values()))
    updates = [_named_new(row, ("id", *_CHANGEABLE)) for row in changed_rows.values()]
    version_rows = rows_to_store(connection, versions)
    if len(updates) == len(version_rows) == 1 and not is_sqlite(connection):
        _UPDATE_WITH_VERSION.run(connection, updates[0] | version_rows[0])
    else:
        _UPDATE.run_for(connection, updates)
        _INSERT_VERSION.run_for(connection, version_rows)
    if renamed_rows:
        connection.execute(_RENAME, [_named_new(row, ("id", "fqn", "name")) for row in renamed_rows.values()])
    last = merged_changes(changes)
    projections.write(connection, last)
    note_creators(connection, [change.new for change in changes if change.is_version])
    for old, new in last:
        rules_revision.note(connection, old, new)
        tokens.note(connection, old, new)


def _named_new(row: Row, keys: tuple[str, ...]) -> Row:
    return {f"new_{key}": row[key] for key in keys}


def merged_changes(changes: Sequence[EntityChange]) -> list[EntityChange]:
    """Return one change per entity, from its first to its last state, of changes that make a version."""
    changes_by_id: dict[str, EntityChange] = {}
    for change in changes:
        if change.is_version:
            first = changes_by_id.get(change.new.id, change)
            changes_by_id[change.new.id] = EntityChange(first.old, change.new)
    return list(changes_by_id.values())
