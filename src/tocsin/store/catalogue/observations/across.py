"""Reports of many entities in the store: those of some kinds in a time range, newest first, in pages.

Next: ``server/routes/observations/profiles.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, and_, func, or_, select, tuple_

from tocsin.access.nodes import Condition
from tocsin.model.entity import Document
from tocsin.store.catalogue.access.visibility import visible_of
from tocsin.store.database import tables
from tocsin.store.database.cursors import ReportWindow, not_a_cursor, place_of, place_text
from tocsin.store.database.documents import REFERENCE, from_text, reference_of
from tocsin.store.database.engine import reading
from tocsin.store.database.observation_tables import series

_ROW = series.c
_ENTITY = tables.entity.c
_PLACE = (_ROW.entity_id, _ROW.kind, _ROW.part)
_PARTS_OF_PLACE = 3


@dataclass(frozen=True)
class FoundReport:
    """A report, its kind, the part of the entity that it is about (else empty), and a reference to the entity."""

    entity: Document
    kind: str
    part: str
    document: Document


@dataclass(frozen=True)
class FoundReports:
    """Some reports, newest first, how many there are in all, and the cursor of the next page."""

    reports: list[FoundReport]
    total: int
    after: str | None = None


class ReportsAcross:
    """Reads reports of many entities; one per engine, safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def page(
        self, entity_type: str, kinds: Collection[str], window: ReportWindow, visible_to: Condition
    ) -> FoundReports:
        """Return a page of the reports of these kinds about live entities of a type that may be seen."""
        with reading(self._engine) as connection:
            condition = and_(
                _ROW.kind.in_(sorted(kinds)),
                _ROW.timestamp_ms.between(window.start_ms, window.end_ms),
                _ENTITY.entity_type == entity_type,
                _ENTITY.deleted.is_(False),
                visible_of(connection, entity_type, visible_to),
            )
            series_with_entities = series.join(tables.entity, _ENTITY.id == _ROW.entity_id)
            total = connection.execute(
                select(func.count()).select_from(series_with_entities).where(condition)
            ).scalar_one()
            query = select(_ROW.timestamp_ms, _ROW.kind, _ROW.part, _ROW.document, *REFERENCE).select_from(
                series_with_entities
            )
            query = query.where(condition, *_beyond(window)).order_by(_ROW.timestamp_ms.desc(), *_PLACE)
            report_rows = list(connection.execute(query.limit(window.limit + 1)))
        page_rows = report_rows[: window.limit]
        reports = [
            FoundReport(reference_of(*reference), kind, part, from_text(text))
            for _, kind, part, text, *reference in page_rows
        ]
        if not page_rows or len(report_rows) == len(page_rows):
            return FoundReports(reports, total)
        at_ms, kind, part, _, entity_id, *_ = page_rows[-1]
        return FoundReports(reports, total, place_text(at_ms, f"{entity_id}|{kind}|{part}"))


def _beyond(window: ReportWindow) -> list[Any]:  # Any: SQLAlchemy's conditions
    """Return what holds for the reports after the cursor of a window."""
    if window.after is None:
        return []
    at_ms, place = place_of(window.after)
    parts = place.split("|", _PARTS_OF_PLACE - 1)
    if len(parts) != _PARTS_OF_PLACE:
        raise not_a_cursor(window.after)
    return [or_(_ROW.timestamp_ms < at_ms, and_(_ROW.timestamp_ms == at_ms, tuple_(*_PLACE) > tuple_(*parts)))]
