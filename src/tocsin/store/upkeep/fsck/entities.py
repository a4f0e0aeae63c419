"""Check of every entity against its document: columns, latest version, name, and projections.

Entities are read in the order of their ids, in chunks of some hundreds. Next: ``store/upkeep/fsck/dangling.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import orjson
from sqlalchemy import Connection, and_, select

from tocsin.flow.capture.diff import diff
from tocsin.model import fqn
from tocsin.model.entity import version_from_tenths
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Stored
from tocsin.store.catalogue.relations import projections
from tocsin.store.catalogue.relations.label_names import NewNames, new_names, with_new_names
from tocsin.store.database.documents import Row, entity_row
from tocsin.store.database.keys import pages_of
from tocsin.store.database.snapshots import VERSION_TEXT, Texts
from tocsin.store.database.tables import entity, entity_version
from tocsin.store.upkeep.fsck.finding import DAMAGED, Advance, Damage, Finding

_AT_ONCE = 500
_COLUMNS = ("fqn", "name", "parent_id", "version_tenths", "updated_at_ms", "updated_by", "deleted")


def read_entities(connection: Connection, advance: Advance) -> Iterator[Finding]:
    """Find entities that differ from their documents or versions, or whose rows do."""
    version, texts = entity_version.c, Texts(connection)
    match = and_(version.entity_id == entity.c.id, version.version_tenths == entity.c.version_tenths)
    query = select(*entity.c, *(column.label(f"kept_{column.name}") for column in VERSION_TEXT))
    for page in pages_of(connection, query.outerjoin(entity_version, match), entity.c.id, size=_AT_ONCE):
        entity_rows = [dict(row._mapping) for row in page]
        readable: list[Stored] = []
        renamed_labels = new_names(connection, [row["id"] for row in entity_rows])
        for row in entity_rows:
            record = readable_entity(row)
            if record is None:
                yield Finding(Damage.UNREADABLE, f"entity {row['id']}", f"its document, a {row['entity_type']}")
                continue
            try:
                later_names = renamed_labels.get(record.id, [])
                findings = [*_columns(row, record), *_newest(row, record, texts, later_names)]
                projections.projected_rows(record)
            except DAMAGED as error:
                problem = f"its document, a {row['entity_type']}, or one of its columns: {error!r}"
                yield Finding(Damage.UNREADABLE, f"entity {row['id']}", problem)
                continue
            readable.append(record)
            yield from findings
        yield from _names(connection, readable)
        yield from _rows(connection, readable)
        advance(len(entity_rows))


def readable_entity(row: Row) -> Stored | None:
    """Return the entity that a row holds, or None if its document cannot be read or is of no known type."""
    try:
        document = orjson.loads(row["document"])
    except (ValueError, TypeError):
        return None
    if not isinstance(document, dict) or row["entity_type"] not in ENTITY_TYPES:
        return None
    return Stored(row["id"], row["entity_type"], row["fqn"], version_from_tenths(row["version_tenths"]), document)


def _columns(row: Row, stored: Stored) -> Iterator[Finding]:
    document = stored.document
    where, says = f"entity {stored.id}", (document.get("id"), document.get("fullyQualifiedName"))
    if says != (row["id"], row["fqn"]) or document.get("version") != row["version_tenths"] / 10:
        problem = f"{row['fqn']} {row['version_tenths'] / 10} contains version {document.get('version')} of {says[1]}"
        yield Finding(Damage.NOT_NEWEST, where, problem)
        return
    expected = entity_row(stored, "")
    if wrong := [key for key in _COLUMNS if expected[key] != row[key]]:
        yield Finding(Damage.WRONG_COLUMN, where, f"{row['fqn']}: {', '.join(wrong)}", stored.id)


def _newest(row: Row, stored: Stored, texts: Texts, later_names: Sequence[NewNames]) -> Iterator[Finding]:
    """Compare with the version of the same number: equal, but for what is written without raising a version.

    ``later_names`` are the new names of the entity's labels.
    """
    where, version = f"entity {stored.id}", row["version_tenths"] / 10
    if row["kept_document"] is None:
        yield Finding(Damage.NOT_NEWEST, where, f"{stored.fqn} has no version {version}")
        return
    try:
        version_text = texts.text_of(row["kept_document"], row["kept_snapshot_id"], row["kept_difference"])
        document = None if version_text == row["document"] else orjson.loads(version_text)
    except DAMAGED:
        return  # the check of versions reports it
    if not isinstance(document, dict):
        return
    document = with_new_names(document, later_names)
    if not diff(stored.entity_type, document, stored.document).is_empty():
        changed_paths = ", ".join(diff(stored.entity_type, document, stored.document).paths())
        yield Finding(Damage.NOT_NEWEST, where, f"{stored.fqn} differs from version {version}: {changed_paths}")


def _names(connection: Connection, entities: list[Stored]) -> Iterator[Finding]:
    parent_ids = {record.id: parent_id for record in entities if (parent_id := _parent(record))}
    query = select(entity.c.id, entity.c.fqn, entity.c.deleted).where(entity.c.id.in_(set(parent_ids.values())))
    parents = {row.id: row for row in connection.execute(query)} if parent_ids else {}
    for record in entities:
        parent = parents.get(parent_ids.get(record.id, ""))
        infix = ENTITY_TYPES[record.entity_type].infix
        if parent is None:  # a reference to nothing is found as such
            continue
        if parent.deleted and not record.is_deleted and "deleted" in record.document:
            yield Finding(Damage.ORPHANED, f"entity {record.id}", f"{record.fqn} is below {parent.fqn}")
        expected_parent = f"{parent.fqn}.{infix}" if infix else parent.fqn
        expected_fqn = fqn.child(expected_parent, str(record.document.get("name")))
        if expected_fqn != record.fqn:
            yield Finding(Damage.WRONG_NAME, f"entity {record.id}", f"{record.fqn} should be {expected_fqn}")


def _parent(stored: Stored) -> str | None:
    field = ENTITY_TYPES[stored.entity_type].parent_field(stored.document)
    parent = stored.document.get(field) if field else None
    return parent.get("id") if isinstance(parent, dict) else None


def _rows(connection: Connection, entities: list[Stored]) -> Iterator[Finding]:
    ids = [record.id for record in entities]
    rows_by_entity: dict[tuple[str, str], set[tuple[object, ...]]] = defaultdict(set)
    for table, columns in projections.COLUMNS.items():
        query = select(*(table.c[column] for column in columns)).where(table.c[columns[0]].in_(ids))
        for row in connection.execute(query):
            rows_by_entity[table.name, row[0]].add(tuple(row))
    for record in entities:
        for table, expected_rows in projections.projected_rows(record).items():
            stored_rows = rows_by_entity[table.name, record.id]
            if expected_rows != stored_rows:
                missing_count, superfluous_count = len(expected_rows - stored_rows), len(stored_rows - expected_rows)
                problem = f"{record.fqn}: {missing_count} rows are missing, {superfluous_count} are superfluous"
                yield Finding(Damage.WRONG_ROWS, f"{table.name} {record.id}", problem, record.id)
