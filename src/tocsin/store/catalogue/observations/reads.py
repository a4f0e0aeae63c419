"""Reads of data stored per entity outside its document: series, attachments and owners, newest first, in pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine, and_, func, or_, select, tuple_

from tocsin.flow.capture.secrets import KIND as SECRETS
from tocsin.model.entity import Document
from tocsin.store.catalogue.observations.across import ReportsAcross
from tocsin.store.catalogue.relations.owners import owners_of
from tocsin.store.database.cursors import DocumentPage, ReportWindow, place_of, place_text
from tocsin.store.database.documents import from_text
from tocsin.store.database.engine import fetch_rows, reading
from tocsin.store.database.observation_tables import attachment, series
from tocsin.store.database.vault import vault_of

_ROW = series.c


class ObservationReads:
    """Reads of data stored outside documents; one per engine, safe to share between threads.

    Attributes
    ----------
    across : reads of reports of many entities at once
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.across = ReportsAcross(engine)

    def page(
        self, entity_id: str, kind: str, window: ReportWindow, *, part: str | None = None, status: str | None = None
    ) -> DocumentPage:
        """Return a page of the reports of one kind, newest first; None means those of all parts, of any status."""
        conditions: list[Any] = [  # Any: SQLAlchemy's conditions
            _ROW.entity_id == entity_id,
            _ROW.kind == kind,
            _ROW.timestamp_ms.between(window.start_ms, window.end_ms),
        ]
        conditions += [] if part is None else [_ROW.part == part]
        conditions += [] if status is None else [_ROW.status == status]
        query = select(_ROW.timestamp_ms, _ROW.part, _ROW.document).where(*conditions)
        if window.after is not None:
            at_ms, last = place_of(window.after)
            query = query.where(or_(_ROW.timestamp_ms < at_ms, and_(_ROW.timestamp_ms == at_ms, _ROW.part > last)))
        query = query.order_by(_ROW.timestamp_ms.desc(), _ROW.part).limit(window.limit + 1)
        with reading(self._engine) as connection:
            total = connection.execute(select(func.count()).select_from(series).where(*conditions)).scalar_one()
            report_rows = list(connection.execute(query))
        page_rows = report_rows[: window.limit]
        after = (
            place_text(page_rows[-1].timestamp_ms, page_rows[-1].part)
            if page_rows and len(report_rows) > len(page_rows)
            else None
        )
        return DocumentPage([from_text(row.document) for row in page_rows], total, after)

    def latest(self, entity_ids: Sequence[str], kind: str) -> dict[str, Document]:
        """Return the newest report of one kind about each entity itself, by the entity's id."""
        condition = and_(_ROW.entity_id.in_(entity_ids), _ROW.kind == kind, _ROW.part == "")
        newest = select(_ROW.entity_id, func.max(_ROW.timestamp_ms)).where(condition).group_by(_ROW.entity_id)
        place = tuple_(_ROW.entity_id, _ROW.timestamp_ms)
        query = select(_ROW.entity_id, _ROW.document).where(_ROW.kind == kind, _ROW.part == "", place.in_(newest))
        return {entity_id: from_text(text) for entity_id, text in fetch_rows(self._engine, query)}

    def latest_by_part(self, entity_id: str, kind: str) -> dict[str, Document]:
        """Return the newest report of one kind about each part of an entity, by the part."""
        condition = and_(_ROW.entity_id == entity_id, _ROW.kind == kind)
        newest = select(_ROW.part, func.max(_ROW.timestamp_ms)).where(condition).group_by(_ROW.part)
        query = select(_ROW.part, _ROW.document).where(condition, tuple_(_ROW.part, _ROW.timestamp_ms).in_(newest))
        return {part: from_text(text) for part, text in fetch_rows(self._engine, query)}

    def newest(self, entity_ids: Sequence[str], kind: str, count: int) -> dict[str, list[Document]]:
        """Return the newest report of each of the newest parts of each entity, newest first, by the entity's id."""
        order = _ROW.timestamp_ms.desc()
        of_part = func.row_number().over(partition_by=(_ROW.entity_id, _ROW.part), order_by=order)
        query = select(_ROW.entity_id, _ROW.part, _ROW.timestamp_ms, _ROW.document, of_part.label("place"))
        last = query.where(_ROW.entity_id.in_(entity_ids), _ROW.kind == kind).subquery().c
        of_entity = func.row_number().over(partition_by=last.entity_id, order_by=(last.timestamp_ms.desc(), last.part))
        placed = select(last.entity_id, last.document, of_entity.label("place")).where(last.place == 1).subquery().c
        documents = select(placed.entity_id, placed.document).where(placed.place <= count)
        reports: dict[str, list[Document]] = {}
        for entity_id, text in fetch_rows(self._engine, documents.order_by(placed.entity_id, placed.place)):
            reports.setdefault(entity_id, []).append(from_text(text))
        return reports

    def attachments(self, entity_ids: Sequence[str], kind: str) -> dict[str, Document]:
        """Return what of this kind is attached to each entity, by the entity's id."""
        query = select(attachment.c.entity_id, attachment.c.document).where(
            attachment.c.entity_id.in_(entity_ids), attachment.c.kind == kind
        )
        with reading(self._engine) as connection:
            documents = {entity_id: from_text(text) for entity_id, text in connection.execute(query)}
            if kind != SECRETS or not documents:
                return documents
            vault = vault_of(connection)
            return {entity_id: vault.open(kept) for entity_id, kept in documents.items()}

    def owners(self, entity_id: str) -> list[Document]:
        """Return references to an entity's effective owners: its own or inherited ones."""
        with reading(self._engine) as connection:
            return owners_of(connection, [entity_id]).get(entity_id, [])
