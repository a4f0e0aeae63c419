"""Check of events against versions: each version has its event, each event its version, none is missing.

The events' versions are collected once in a temporary table and compared in SQL, so memory stays small.
Next: ``store/upkeep/fsck/entities.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    MetaData,
    Over,
    String,
    Table,
    and_,
    exists,
    false,
    func,
    insert,
    not_,
    or_,
    select,
)

from tocsin.model.change import EventType
from tocsin.store.database.documents import tenths_of
from tocsin.store.database.keys import pages_of
from tocsin.store.database.snapshots import EVENT_TEXT, VERSION_TEXT, Texts
from tocsin.store.database.tables import change_event, entity_version
from tocsin.store.eventlog.removed import removed_until_ms
from tocsin.store.upkeep.fsck.finding import DAMAGED, Advance, Damage, Finding

_AT_ONCE = 5_000
_GONE = EventType.ENTITY_DELETED.value

logged = Table(
    "fsck_logged",
    MetaData(),
    Column("log_offset", BigInteger),
    Column("entity_id", String(36)),
    Column("event_type", String(40)),
    Column("before", Integer),
    Column("after", Integer),
    prefixes=["TEMPORARY"],
)
"""One row per event that makes or ends versions: of which entity, from which version to which, in tenths."""


def gather(connection: Connection, advance: Advance) -> Iterator[Finding]:
    """Fill the temporary table from the log; find events that cannot be read or are not what their columns say."""
    logged.create(connection)
    event, texts = change_event.c, Texts(connection)
    query = select(event.log_offset, event.id, event.event_type, event.entity_id, *EVENT_TEXT)
    for event_rows in pages_of(connection, query, event.log_offset, size=_AT_ONCE):
        yield from _keep(connection, event_rows, texts)
        advance(len(event_rows))
    connection.exec_driver_sql("CREATE INDEX fsck_logged_at ON fsck_logged (entity_id, after)")


def compare(connection: Connection, advance: Advance) -> Iterator[Finding]:
    """Find versions without events, events without versions, gaps between versions and events out of order."""
    for look in (_versions_without_event, _events_without_version, _gaps, _out_of_order):
        yield from look(connection)
        advance(1)


def read_versions(connection: Connection, advance: Advance) -> Iterator[Finding]:
    """Find versions that cannot be read or are not what their columns say."""
    keys, texts = (entity_version.c.entity_id, entity_version.c.version_tenths), Texts(connection)
    for version_rows in pages_of(connection, select(*keys, *VERSION_TEXT), *keys, size=_AT_ONCE):
        for row in version_rows:
            if finding := _wrong_version(row, texts):
                yield finding
        advance(len(version_rows))


def _keep(
    connection: Connection,
    event_rows: Sequence[Any],  # Any: SQLAlchemy's rows
    texts: Texts,
) -> Iterator[Finding]:
    changes = []
    for row in event_rows:
        offset, event_id, event_type, entity_id = row[:4]
        where = f"change_event {offset}"
        try:
            document = orjson.loads(texts.of(row))
            before, after = (_tenths(document.get(key)) for key in ("previousVersion", "currentVersion"))
        except DAMAGED:
            yield Finding(Damage.UNREADABLE, where, f"event {event_id} cannot be read")
            continue
        if [document.get(key) for key in ("id", "entityId", "eventType")] != [event_id, entity_id, event_type]:
            yield Finding(Damage.WRONG_COLUMN, where, f"event {event_id} differs from its columns")
        if before != after:
            change = (offset, entity_id, event_type, before, after)
            changes.append(dict(zip(logged.c.keys(), change, strict=True)))
    if changes:
        connection.execute(insert(logged), changes)


def _wrong_version(row: Any, texts: Texts) -> Finding | None:  # Any: SQLAlchemy's row
    where = f"entity_version {row.entity_id} {row.version_tenths / 10}"
    try:
        document = orjson.loads(texts.of(row))
        says = (document.get("id"), _tenths(document.get("version")))
    except DAMAGED:
        return Finding(Damage.UNREADABLE, where, "its document cannot be read")
    if says == (row.entity_id, row.version_tenths):
        return None
    return Finding(Damage.WRONG_COLUMN, where, f"its document is version {document.get('version')} of {says[0]}")


def _tenths(version: float | None) -> int | None:
    return None if version is None else tenths_of(version)


def _versions_without_event(connection: Connection) -> Iterator[Finding]:
    version = entity_version.c
    match = and_(logged.c.entity_id == version.entity_id, logged.c.after == version.version_tenths)
    query = (
        select(version.entity_id, version.version_tenths)
        .outerjoin(logged, match)
        .where(logged.c.entity_id.is_(None), version.updated_at_ms > removed_until_ms(connection))
    )
    for entity_id, tenths in connection.execute(query):
        yield Finding(Damage.VERSION_WITHOUT_EVENT, f"entity_version {entity_id}", f"no event created {tenths / 10}")


def _events_without_version(connection: Connection) -> Iterator[Finding]:
    version = entity_version.c
    match = and_(version.entity_id == logged.c.entity_id, version.version_tenths == logged.c.after)
    later = logged.alias("later")
    withdrawal = exists().where(
        later.c.entity_id == logged.c.entity_id,
        later.c.before == logged.c.after,
        later.c.after < later.c.before,
        later.c.log_offset > logged.c.log_offset,
    )
    query = (
        select(logged.c.log_offset, logged.c.entity_id, logged.c.after)
        .outerjoin(entity_version, match)
        .where(logged.c.after.is_not(None), version.entity_id.is_(None), not_(withdrawal))
    )
    for offset, entity_id, tenths in connection.execute(query):
        yield Finding(Damage.EVENT_WITHOUT_VERSION, f"change_event {offset}", f"{entity_id} has no {tenths / 10}")


def _gaps(connection: Connection) -> Iterator[Finding]:
    version = entity_version.c
    before = func.lag(version.version_tenths).over(partition_by=version.entity_id, order_by=version.version_tenths)
    pairs = select(version.entity_id, version.version_tenths, before.label("before")).subquery()
    step = pairs.c.version_tenths - pairs.c.before
    is_gap = or_(
        and_(pairs.c.before.is_(None), pairs.c.version_tenths != 1),
        and_(pairs.c.before.is_not(None), not_(step.in_((1, 10)))),
    )
    for entity_id, tenths, earlier in connection.execute(select(pairs).where(is_gap)):
        problem = f"{tenths / 10} follows {'nothing' if earlier is None else earlier / 10}"
        yield Finding(Damage.VERSION_GAP, f"entity_version {entity_id}", problem)


def _out_of_order(connection: Connection) -> Iterator[Finding]:
    """Find events that do not begin where the one before left off, and any that come after the last one.

    An edit that adds to the version before it says the same versions once more. An event may begin at a version that
    is from a time of which retention has removed events.
    """
    pairs = select(
        logged.c.log_offset,
        logged.c.entity_id,
        logged.c.before,
        logged.c.after,
        _earlier(logged.c.before).label("left_before"),
        _earlier(logged.c.after).label("left_at"),
        _earlier(logged.c.event_type).label("left_by"),
    ).subquery()
    column = pairs.c
    is_odd = or_(
        column.left_by == _GONE,
        and_(column.left_by.is_(None), column.before.is_not(None)),
        and_(column.left_by != _GONE, func.coalesce(column.before, 0) != func.coalesce(column.left_at, 0)),
    )
    adds_to_it = and_(column.left_before == column.before, column.left_at == column.after)
    odd = select(column.log_offset, column.entity_id, column.before, column.left_at).where(
        is_odd, not_(func.coalesce(adds_to_it, false()))
    )
    if until_ms := removed_until_ms(connection):
        version = entity_version.c
        begins_at = (version.entity_id == column.entity_id) & (version.version_tenths == column.before)
        is_later = exists().where(begins_at, version.updated_at_ms > until_ms)
        odd = odd.where(or_(column.left_by == _GONE, is_later))
    for offset, entity_id, before, end_version in connection.execute(odd):
        begins, end = ("nothing" if one is None else one / 10 for one in (before, end_version))
        problem = f"{entity_id}: it begins at {begins}, the previous one ended at {end}"
        yield Finding(Damage.EVENT_OUT_OF_ORDER, f"change_event {offset}", problem)


def _earlier(column: Column[Any]) -> Over[Any]:  # Any: whatever the column holds
    """Return what the column held in the entity's event before."""
    return func.lag(column).over(partition_by=logged.c.entity_id, order_by=logged.c.log_offset)
