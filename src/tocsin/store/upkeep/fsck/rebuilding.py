"""Check of every version against its reconstruction from events: the most expensive check, entity by entity.

Next: ``flow/capture/rebuild.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from typing import Any

from sqlalchemy import Connection, func, select

from tocsin.flow.capture.diff import diff
from tocsin.flow.capture.rebuild import versions
from tocsin.model.change import LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import MEMBERSHIPS
from tocsin.store.catalogue.relations.label_names import new_names
from tocsin.store.database.documents import from_text, tenths_of
from tocsin.store.database.keys import pages_of
from tocsin.store.database.snapshots import VERSION_TEXT, Texts
from tocsin.store.database.tables import change_event, entity_version
from tocsin.store.eventlog.log import LOGGED, logged_event_of
from tocsin.store.eventlog.removed import removed_until_ms
from tocsin.store.upkeep.fsck.finding import DAMAGED, Advance, Damage, Finding

_STAMPS = ("id", "fullyQualifiedName", "version", "updatedAt", "updatedBy")


def find_differing_versions(connection: Connection, advance: Advance) -> Iterator[Finding]:
    """Find versions that differ from what the events of their entity make of them."""
    event = change_event.c
    for page in pages_of(connection, select(event.entity_id).distinct(), event.entity_id, size=_AT_ONCE):
        ids = [row.entity_id for row in page]
        query = select(event.entity_id, *LOGGED).where(event.entity_id.in_(ids))
        event_rows = connection.execute(query.order_by(event.entity_id, event.log_offset)).all()
        for entity_id, group in groupby(event_rows, key=lambda row: str(row.entity_id)):
            yield from _of_entity(connection, entity_id, list(group))
        advance(len(event_rows))


def _of_entity(connection: Connection, entity_id: str, group: Sequence[Any]) -> Iterator[Finding]:  # Any: rows
    try:
        texts = Texts(connection)
        logged = [logged_event_of(row, texts) for row in group]
        if removed_until_ms(connection) and not _is_whole(connection, entity_id, logged):
            return
        if logged[0].event.entity_type in ENTITY_TYPES:
            yield from _differences(connection, entity_id, logged)
    except DAMAGED:
        problem = "one of its events or versions cannot be read, so they cannot be compared"
        yield Finding(Damage.NOT_REBUILT, f"entity_version {entity_id}", problem)


def _is_whole(connection: Connection, entity_id: str, logged: Sequence[LoggedEvent]) -> bool:
    """Return whether an entity's events lead from nothing to its newest version, so that retention removed none."""
    version = None
    for event in (one.event for one in logged):
        if event.previous_version != version and event.current_version != version:
            return False
        version = event.current_version
    newest = select(func.max(entity_version.c.version_tenths)).where(entity_version.c.entity_id == entity_id)
    newest_tenths = connection.execute(newest).scalar_one_or_none() or 0
    return any(tenths_of(one.event.current_version or 0) >= newest_tenths for one in logged)


def _differences(connection: Connection, entity_id: str, logged: list[LoggedEvent]) -> Iterator[Finding]:
    entity_type = logged[0].event.entity_type
    columns = entity_version.c
    query = select(*VERSION_TEXT).where(columns.entity_id == entity_id).order_by(columns.version_tenths)
    texts = Texts(connection)
    stored_documents = [from_text(texts.of(row)) for row in connection.execute(query)]
    try:
        later_names = new_names(connection, [entity_id]).get(entity_id, [])
        rebuilt = versions(logged, [(relabelling.log_offset, relabelling.names) for relabelling in later_names])
    except (ValueError, KeyError, TypeError) as refused:
        yield Finding(Damage.NOT_REBUILT, f"entity_version {entity_id}", f"its events are inconsistent: {refused}")
        return
    for stored_version, rebuilt_version in zip_longest(stored_documents, rebuilt):
        if (
            stored_version is None
            or rebuilt_version is None
            or not _is_same(entity_type, rebuilt_version, stored_version)
        ):
            version = (stored_version or rebuilt_version)["version"]
            yield Finding(Damage.NOT_REBUILT, f"entity_version {entity_id}", f"{version} differs from its events")
            return


def _is_same(entity_type: str, rebuilt: Document, stored: Document) -> bool:
    memberships = dict.fromkeys(MEMBERSHIPS.get(entity_type, ()))
    stamps_agree = all(rebuilt.get(key) == stored.get(key) for key in _STAMPS)
    return stamps_agree and diff(entity_type, rebuilt | memberships, stored | memberships).is_empty()


_AT_ONCE = 200
