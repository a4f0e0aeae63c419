"""How does one write transaction change the catalogue? Rows for an entity, its versions and all that hangs on it.

Implements ``flow/capture/ports.Transaction``. Next: ``store/log.py``; for reads ``store/entities.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, delete, insert, or_, select, update

from tocsin.flow.capture.ports import CapturedEvent, Hold, Key, Stored
from tocsin.model import fqn as names
from tocsin.model.entity import Document, version_to_tenths
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.store import log, partings, projections, tables
from tocsin.store.documents import entity_row, from_text, reference_of, stored_of, to_text

_ENTITY = tables.entity.c
STORED = (_ENTITY.id, _ENTITY.entity_type, _ENTITY.fqn, _ENTITY.version_tenths, _ENTITY.document)
"""What makes a ``Stored``."""
REFERENCE = (_ENTITY.id, _ENTITY.entity_type, _ENTITY.name, _ENTITY.fqn, _ENTITY.deleted)
"""What makes a reference."""
_CHANGEABLE = ("parent_id", "version_tenths", "updated_at_ms", "updated_by", "deleted", "document")
_REPORTS = {
    "testCase": (tables.test_case_result, "test_case_id"),
    "pipeline": (tables.pipeline_run, "pipeline_id"),
}


def by_value(query: Select[Any], column: str) -> Select[Any]:  # Any: SQLAlchemy's tuple of columns
    """Return the query for the one entity of ``:entity_type`` that has ``:value`` in this column."""
    return query.where(_ENTITY.entity_type == bindparam("entity_type"), _ENTITY[column] == bindparam("value"))


def _held(query: Select[Any], hold: Hold) -> Select[Any]:  # Any: SQLAlchemy's tuple of columns
    """Return the query with PostgreSQL's row lock: FOR KEY SHARE, FOR NO KEY UPDATE or FOR UPDATE."""
    return query.with_for_update(read=hold is Hold.SHARED, key_share=hold is not Hold.REMOVE)


# Statements that every write uses are made once: making one costs more than running it.
_FIND = {(column, hold): _held(by_value(select(*STORED), column), hold) for column in ("id", "fqn") for hold in Hold}
_REFER = {column: _held(by_value(select(*REFERENCE), column), Hold.SHARED) for column in ("id", "fqn")}
_INSERT = insert(tables.entity)
_UPDATE = (
    update(tables.entity)
    .where(_ENTITY.id == bindparam("new_id"))
    .values({key: bindparam(f"new_{key}") for key in _CHANGEABLE})
)
_INSERT_VERSION = insert(tables.entity_version)


class SqlTransaction:
    """A write transaction on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._run = connection.execute

    def find(self, entity_type: str, key: Key, hold: Hold = Hold.CHANGE) -> Stored | None:
        """Return the entity, soft-deleted or not, and hold it; None if there is none."""
        column, values = lookups(entity_type, key)
        for value in values:
            row = self._run(_FIND[column, hold], {"entity_type": entity_type, "value": value}).one_or_none()
            if row:
                found = stored_of(*row)
                projections.add_memberships(self._connection, entity_type, [found.document])
                return found
        return None

    def reference(self, entity_type: str, key: Key) -> Document | None:
        """Return the full reference to an entity (with ``deleted`` when it is), held as shared; None if none."""
        column, values = lookups(entity_type, key)
        for value in values:
            row = self._run(_REFER[column], {"entity_type": entity_type, "value": value}).one_or_none()
            if row:
                return reference_of(*row)
        return None

    def descendants(self, entity_types: Sequence[str], fqn: str) -> list[Stored]:
        """Return every entity of these types whose FQN lies under ``fqn``, held for removal, in FQN order."""
        query = select(*STORED).where(_ENTITY.entity_type.in_(entity_types), lies_under(fqn)).order_by(_ENTITY.fqn)
        found = self._stored(query, Hold.REMOVE)
        # A child that was being added while the first look waited for its parent shows in the second.
        again = self._stored(query, Hold.REMOVE)
        while len(again) != len(found):
            found, again = again, self._stored(query, Hold.REMOVE)
        return again

    def referring(self, entity_id: str) -> list[Stored]:
        """Return every entity that names this one as an owner."""
        owned = select(tables.ownership.c.entity_id).where(tables.ownership.c.owner_id == entity_id)
        return self._stored(select(*STORED).where(_ENTITY.id.in_(owned)).order_by(_ENTITY.fqn), Hold.CHANGE)

    def insert(self, new: Stored) -> None:
        """Add an entity and its first version."""
        text = to_text(projections.without_memberships(new))
        self._run(_INSERT, entity_row(new, text))
        self._keep_version(new, text)
        projections.write(self._connection, None, new)

    def update(self, old: Stored, new: Stored) -> None:
        """Replace an entity; a new version is kept when the version number differs."""
        text = to_text(projections.without_memberships(new))
        row = entity_row(new, text)
        self._run(_UPDATE, {f"new_{key}": row[key] for key in ("id", *_CHANGEABLE)})
        if new.version != old.version:
            self._keep_version(new, text)
            projections.write(self._connection, old, new)

    def erase(self, gone: Stored) -> None:
        """Remove an entity and all that hangs on it, except its versions."""
        partings.keep(self._connection, gone.id)
        projections.erase(self._connection, gone.id)
        edge = tables.lineage_edge.c
        self._run(delete(tables.lineage_edge).where(or_(edge.from_id == gone.id, edge.to_id == gone.id)))
        if gone.entity_type in _REPORTS:
            table, key = _REPORTS[gone.entity_type]
            self._run(delete(table).where(table.c[key] == gone.id))
        if gone.entity_type == "user":
            self._run(delete(tables.credential).where(tables.credential.c.user_id == gone.id))
        self._run(delete(tables.entity).where(_ENTITY.id == gone.id))

    def follow(self, entity: Stored, user_id: str, at_ms: int) -> bool:
        """Make the user a follower; False if they were one."""
        follow = tables.follow.c
        known = select(follow.user_id).where(follow.entity_id == entity.id, follow.user_id == user_id)
        if self._run(known).first():
            return False
        row = {"entity_id": entity.id, "user_id": user_id, "entity_type": entity.entity_type, "followed_at_ms": at_ms}
        self._run(insert(tables.follow), row)
        return True

    def unfollow(self, entity: Stored, user_id: str) -> bool:
        """Make the user no follower; False if they were none."""
        follow = tables.follow.c
        gone = delete(tables.follow).where(follow.entity_id == entity.id, follow.user_id == user_id)
        return self._run(gone).rowcount > 0

    def report(self, entity: Stored, at_ms: int, report: Document) -> bool:
        """Keep a test result or a pipeline run that happened at ``at_ms``; False if the same was kept before."""
        table, key = _REPORTS[entity.entity_type]
        same_run = and_(table.c[key] == entity.id, table.c.timestamp_ms == at_ms)
        known = self._run(select(table.c.document).where(same_run)).scalar_one_or_none()
        if known is None:
            row = {key: entity.id, "timestamp_ms": at_ms, "document": to_text(report)}
            self._run(insert(table), row)
            return True
        self._run(update(table).where(same_run).values(document=to_text(report)))
        return _status_of(from_text(known)) != _status_of(report)

    def edge(self, from_id: str, to_id: str) -> Document | None:
        """Return the details of a lineage edge, or None if there is no such edge."""
        query = select(tables.lineage_edge.c.details).where(_is_edge(from_id, to_id)).with_for_update()
        details = self._run(query).scalar_one_or_none()
        return None if details is None else from_text(details)

    def put_edge(self, from_: Stored, to: Stored, details: Document) -> None:
        """Add a lineage edge or replace its details."""
        self.delete_edge(from_.id, to.id)
        row = {
            "from_id": from_.id,
            "to_id": to.id,
            "from_type": from_.entity_type,
            "to_type": to.entity_type,
            "details": to_text(details),
        }
        self._run(insert(tables.lineage_edge), row)

    def delete_edge(self, from_id: str, to_id: str) -> None:
        """Remove a lineage edge."""
        self._run(delete(tables.lineage_edge).where(_is_edge(from_id, to_id)))

    def append(self, events: Iterable[CapturedEvent]) -> None:
        """Add events to the log and the outbox, in this order."""
        log.append(self._connection, list(events))

    def _stored(self, query: Select[Any], hold: Hold) -> list[Stored]:  # Any: SQLAlchemy's tuple of columns
        return [stored_of(*row) for row in self._run(_held(query, hold))]

    def _keep_version(self, entity: Stored, text: str) -> None:
        row = {
            "entity_id": entity.id,
            "version_tenths": version_to_tenths(entity.version),
            "updated_at_ms": entity.document["updatedAt"],
            "document": text,
        }
        self._run(_INSERT_VERSION, row)


def lookups(entity_type: str, key: Key) -> tuple[str, list[str]]:
    """Return the column by which to find an entity, and the values to try in order.

    People type the name of a user or a service without the quotation marks its FQN needs.
    """
    if key.id is not None:
        return "id", [key.id]
    fqn = key.fqn or ""
    is_bare = ENTITY_TYPES[entity_type].parent is None and "." in fqn and not fqn.startswith('"')
    return "fqn", [fqn, names.quote(fqn)] if is_bare else [fqn]


def lies_under(fqn: str) -> Any:  # Any: SQLAlchemy's condition
    """Return the condition that an entity's FQN begins with ``fqn`` and goes on: a range of the index."""
    return and_(_ENTITY.fqn > f"{fqn}.", _ENTITY.fqn < f"{fqn}/")  # "/" is what follows "."


def _is_edge(from_id: str, to_id: str) -> Any:  # Any: SQLAlchemy's condition
    return and_(tables.lineage_edge.c.from_id == from_id, tables.lineage_edge.c.to_id == to_id)


def _status_of(report: Document) -> object:
    return report.get("testCaseStatus") or report.get("executionStatus")
