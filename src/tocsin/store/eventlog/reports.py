"""Reports of entities in the log: the events that streaks are computed from.

Next: ``flow/match/streak.py``, ``jobs/streak_stream.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Engine, func, insert, select

from tocsin.flow.match.streak import StatusReport, report_in
from tocsin.model.change import EventType, LoggedEvent
from tocsin.model.stored import CapturedEvent
from tocsin.store.database.documents import from_text
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.tables import change_event, entity

_INSERT = insert(status_report)
_LONGEST_VERDICT = 40


def add_reports(connection: Connection, events: Sequence[tuple[int, CapturedEvent]]) -> None:
    """Index which of these events, each at its offset, report a status; inside the transaction that appends them.

    Hard deletes of entities with reports are indexed as well, so that their streaks can be dropped.
    """
    deleted_ids = [one.event.entity_id for _, one in events if one.event.event_type is EventType.ENTITY_DELETED]
    ended = _ids_with_reports(connection, deleted_ids) if deleted_ids else frozenset[str]()
    report_rows = [row for offset, one in events if (row := _row(offset, one, ended)) is not None]
    if report_rows:
        connection.execute(_INSERT, report_rows)


def _row(offset: int, captured: CapturedEvent, ended: frozenset[str]) -> dict[str, object] | None:
    event = captured.event
    report = report_in(captured.derived, event.timestamp)
    is_end = event.event_type is EventType.ENTITY_DELETED
    if report is None and not (is_end and event.entity_id in ended):
        return None
    stated_report = None if report is None or is_end else report
    return {
        "log_offset": offset,
        "entity_id": event.entity_id,
        "verdict": stated_report and stated_report.verdict and stated_report.verdict[:_LONGEST_VERDICT],
        "reported_at_ms": stated_report and stated_report.at_ms,
    }


def _ids_with_reports(connection: Connection, entity_ids: Sequence[str]) -> frozenset[str]:
    """Return which of these entities have reported something."""
    reported = select(status_report.c.entity_id).distinct()
    return frozenset(row.entity_id for row in rows_by_key(connection, reported, status_report.c.entity_id, entity_ids))


class Reports:
    """Reads what was reported."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def before(self, logged: LoggedEvent) -> list[StatusReport]:
        """Return what the entity of ``logged`` reported before it, in the order of the log."""
        place = status_report.c
        query = (
            select(change_event.c.derived, change_event.c.timestamp_ms)
            .join(status_report, place.log_offset == change_event.c.log_offset)
            .where(place.entity_id == logged.event.entity_id, place.log_offset < logged.offset)
            .order_by(place.log_offset)
        )
        with reading(self._engine) as connection:
            events = connection.execute(query)
            reports = (report_in(from_text(derived), timestamp_ms) for derived, timestamp_ms in events)
            return [report for report in reports if report is not None]

    def newest(self) -> int:
        """Return the offset of the last report, or of a reporting entity's last hard delete; 0 when there is none."""
        with reading(self._engine) as connection:
            return int(connection.execute(select(func.max(status_report.c.log_offset))).scalar() or 0)

    def first_between(self, after: int, through: int) -> int | None:
        """Return the offset of the first report above one offset, through another; None if there is none."""
        place = status_report.c.log_offset
        with reading(self._engine) as connection:
            offset = connection.execute(select(func.min(place)).where(place > after, place <= through)).scalar()
            return None if offset is None else int(offset)

    def live(self, entity_ids: Sequence[str]) -> dict[str, str]:
        """Return the type of each of these entities that is not deleted."""
        query = select(entity.c.id, entity.c.entity_type).where(entity.c.deleted.is_(False))
        with reading(self._engine) as connection:
            return {row.id: row.entity_type for row in rows_by_key(connection, query, entity.c.id, entity_ids)}

    def logged_ids(self, event_ids: Sequence[str]) -> set[str]:
        """Return which of these events the log has."""
        column = change_event.c.id
        with reading(self._engine) as connection:
            return {row.id for row in rows_by_key(connection, select(column), column, event_ids)}
