"""Time series of reports per entity, and attachments without a time.

Written inside the transaction of ``store/catalogue/entities/write.py``; read newest first, in pages. A cursor is a
timestamp.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, and_, delete, insert, select, update

from tocsin.chunks import chunks_of
from tocsin.errors import InvalidInput
from tocsin.flow.capture.secrets import KIND as SECRETS
from tocsin.model.entity import Document
from tocsin.model.report import Line, StoredReport
from tocsin.store.database.bulk import BulkInsert
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.keys import delete_by_key
from tocsin.store.database.observation_tables import (
    attachment,
    entity_usage,
    incident_status,
    series,
    suite_member,
    suite_run,
)
from tocsin.store.database.vault import vault_of

LONGEST_PART_BYTES = 1_000
"""Bytes that the name of a part may have, in UTF-8, so that an index can hold it."""

_ROW = series.c
_PUT = BulkInsert(attachment, ("entity_id", "kind", "document"))


class SqlSeries:
    """Series on the connection of a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._run = connection.execute

    def put(self, line: Line, report: StoredReport) -> Document | None:
        """Keep a report in place of the one of the same moment, which is returned; None if there was none.

        Raises
        ------
        InvalidInput : the name of the part is too long
        """
        if len(line.part.encode()) > LONGEST_PART_BYTES:
            raise InvalidInput(f"a name is longer than {LONGEST_PART_BYTES} bytes", field="name")
        previous = self.at(line, report.at_ms)
        values = {"status": report.status, "document": to_text(report.document)}
        if previous is None:
            key = {"entity_id": line.entity_id, "kind": line.kind, "part": line.part, "timestamp_ms": report.at_ms}
            self._run(insert(series), key | values)
        else:
            self._run(update(series).where(_is_of_line(line), _ROW.timestamp_ms == report.at_ms).values(values))
        return previous

    def at(self, line: Line, at_ms: int) -> Document | None:
        """Return what was reported at that moment."""
        text = self._run(
            select(_ROW.document).where(_is_of_line(line), _ROW.timestamp_ms == at_ms)
        ).scalar_one_or_none()
        return None if text is None else from_text(text)

    def latest(self, line: Line, *, before_ms: int | None = None, statuses: Sequence[str] = ()) -> StoredReport | None:
        """Return the newest report; with a moment the newest before it, with statuses the newest that has one."""
        query = select(_ROW.timestamp_ms, _ROW.document, _ROW.status).where(_is_of_line(line))
        if before_ms is not None:
            query = query.where(_ROW.timestamp_ms < before_ms)
        if statuses:
            query = query.where(_ROW.status.in_(statuses))
        row = self._run(query.order_by(_ROW.timestamp_ms.desc()).limit(1)).one_or_none()
        return None if row is None else StoredReport(row.timestamp_ms, from_text(row.document), row.status)

    def remove(self, line: Line, at_ms: int) -> Document | None:
        """Forget what was reported at that moment, and return it; None if there was nothing."""
        previous = self.at(line, at_ms)
        self._run(delete(series).where(_is_of_line(line), _ROW.timestamp_ms == at_ms))
        return previous


class SqlAttachments:
    """Attachments on the connection of a transaction; secrets are sealed."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._run = connection, connection.execute

    def get(self, entity_id: str, kind: str) -> Document | None:
        """Return what of this kind is attached to an entity."""
        text = self._run(select(attachment.c.document).where(_is_attachment(entity_id, kind))).scalar_one_or_none()
        if text is None:
            return None
        return vault_of(self._connection).open(from_text(text)) if kind == SECRETS else from_text(text)

    def put(self, entity_id: str, kind: str, document: Document) -> None:
        """Attach a document in place of the one of this kind that was there."""
        self.remove(entity_id, kind)
        stored_document = vault_of(self._connection).seal(document) if kind == SECRETS else document
        self._run(insert(attachment), {"entity_id": entity_id, "kind": kind, "document": to_text(stored_document)})

    def get_all(self, entity_ids: Sequence[str], kind: str) -> dict[str, Document]:
        """Return what of this kind is attached to each of these entities, by its id; secrets are not for many."""
        documents: dict[str, Document] = {}
        for chunk in chunks_of(entity_ids):
            query = select(attachment.c.entity_id, attachment.c.document).where(_is_among(chunk, kind))
            documents |= {entity_id: from_text(text) for entity_id, text in self._run(query)}
        return documents

    def put_all(self, entity_ids: Sequence[str], kind: str, document: Document) -> None:
        """Attach a document to each of these entities in place of what of this kind was there; no secrets."""
        text = to_text(document)
        for chunk in chunks_of(entity_ids):
            self._run(delete(attachment).where(_is_among(chunk, kind)))
            _PUT.run(self._connection, [(entity_id, kind, text) for entity_id in chunk])

    def remove(self, entity_id: str, kind: str) -> bool:
        """Take away what of this kind is attached; False if nothing was."""
        return self._run(delete(attachment).where(_is_attachment(entity_id, kind))).rowcount > 0


_NAMING = (
    _ROW.entity_id,
    attachment.c.entity_id,
    entity_usage.c.entity_id,
    incident_status.c.test_case_id,
    suite_run.c.suite_id,
    suite_member.c.suite_id,
    suite_member.c.test_case_id,
)
"""Every column of series and attachments that names an entity."""


def erase(connection: Connection, entity_ids: Collection[str]) -> None:
    """Remove the series and attachments of entities."""
    for column in _NAMING:
        delete_by_key(connection, column, entity_ids)


def _is_of_line(line: Line) -> Any:  # Any: SQLAlchemy's condition
    return and_(_ROW.entity_id == line.entity_id, _ROW.kind == line.kind, _ROW.part == line.part)


def _is_among(entity_ids: Sequence[str], kind: str) -> Any:  # Any: SQLAlchemy's condition
    return and_(attachment.c.entity_id.in_(entity_ids), attachment.c.kind == kind)


def _is_attachment(entity_id: str, kind: str) -> Any:  # Any: SQLAlchemy's condition
    return and_(attachment.c.entity_id == entity_id, attachment.c.kind == kind)
