"""Progress of retention: which run works, the time that ages are measured by, and what was removed.

One run works at a time: it claims the one row, and gives a sign with every portion; a run whose process was killed is
passed over after ``_SILENT_MS``. Next: ``store/upkeep/retention/events.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import orjson
from sqlalchemy import Connection, Engine, func, insert, or_, select, update

from tocsin.flow.eventlog.retention import trusted_now_ms
from tocsin.model.entity import Document
from tocsin.model.retention import DAY_MS
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.retention_tables import removed_events, retention_state
from tocsin.store.database.tables import change_event
from tocsin.store.eventlog.removed import removed_until_ms

Kind = tuple[int, str, str]
"""Day since the epoch, event type, entity type."""

_STATE = retention_state.c
_REMOVED = removed_events.c
_SILENT_MS = 300_000
_THE_ROW = _STATE.id == 1


class RetentionProgress:
    """The progress of retention in one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def claim(self, run_id: str, *, now_ms: int) -> bool:
        """Begin a run; return False, and change nothing, while another one works."""
        free = or_(_STATE.runner.is_(None), _STATE.runner == run_id, func.abs(now_ms - _STATE.seen_at_ms) > _SILENT_MS)
        with writing(self._engine) as connection:
            connection.execute(insert_into(connection, retention_state).values(id=1).on_conflict_do_nothing())
            claim = update(retention_state).where(_THE_ROW, free).values(runner=run_id, seen_at_ms=now_ms)
            return bool(connection.execute(claim).rowcount)

    def trusted_ms(self, now_ms: int) -> int:
        """Return the time that the ages of a run are measured by."""
        with reading(self._engine) as connection:
            earlier_ms = connection.execute(select(_STATE.trusted_ms).where(_THE_ROW)).scalar_one_or_none()
            newest_ms = connection.execute(select(func.max(change_event.c.timestamp_ms))).scalar_one() or 0
        return trusted_now_ms(now_ms, earlier_ms=earlier_ms, newest_event_ms=newest_ms)

    def end(self, run_id: str, result: Document, *, trusted_ms: int) -> None:
        """End a run, and note its result."""
        latest_ms = func.coalesce(_STATE.trusted_ms, 0)
        with writing(self._engine) as connection:
            earlier_ms = connection.execute(select(latest_ms).where(_THE_ROW)).scalar_one_or_none() or 0
            values = {
                "runner": None,
                "trusted_ms": max(earlier_ms, trusted_ms),
                "last_run": orjson.dumps(result).decode(),
            }
            connection.execute(update(retention_state).where(_THE_ROW, _STATE.runner == run_id).values(**values))

    def last_run(self) -> Document | None:
        """Return the result of the last run; None if there was none."""
        with reading(self._engine) as connection:
            text = connection.execute(select(_STATE.last_run).where(_THE_ROW)).scalar_one_or_none()
        return None if text is None else orjson.loads(text)

    def removed_counts(self, since_ms: int | None = None, until_ms: int | None = None) -> tuple[int, int]:
        """Return how many events that happened in a time, to the day, were removed from the log, and from the lake."""
        query = select(func.coalesce(func.sum(_REMOVED.log_count), 0), func.coalesce(func.sum(_REMOVED.lake_count), 0))
        if since_ms is not None:
            query = query.where(_REMOVED.day >= since_ms // DAY_MS)
        if until_ms is not None:
            query = query.where(_REMOVED.day <= until_ms // DAY_MS)
        with reading(self._engine) as connection:
            log_count, lake_count = connection.execute(query).one()
        return int(log_count), int(lake_count)

    def removed_until_ms(self) -> int:
        """Return the latest time of an event that was removed from the log; 0 if none was."""
        with reading(self._engine) as connection:
            return removed_until_ms(connection)

    def add_lake_counts(self, counts: Mapping[Kind, int]) -> None:
        """Note what was removed from the lake."""
        with writing(self._engine) as connection:
            add_counts(connection, lake=counts)


def give_sign(connection: Connection, run_id: str, *, now_ms: int) -> bool:
    """Note that a run works, inside the transaction of a portion; return False if another one has taken over."""
    sign = update(retention_state).where(_THE_ROW, _STATE.runner == run_id).values(seen_at_ms=now_ms)
    return bool(connection.execute(sign).rowcount)


def note_removed(connection: Connection, counts: Mapping[Kind, int], *, through: int, until_ms: int) -> None:
    """Note what was removed from the log, in the transaction that removes it."""
    add_counts(connection, log=counts)
    row = connection.execute(select(_STATE.removed_through, _STATE.removed_until_ms).where(_THE_ROW)).one()
    values = {
        "removed_through": max(row.removed_through, through),
        "removed_until_ms": max(row.removed_until_ms, until_ms),
    }
    connection.execute(update(retention_state).where(_THE_ROW).values(**values))


def add_counts(
    connection: Connection, *, log: Mapping[Kind, int] | None = None, lake: Mapping[Kind, int] | None = None
) -> None:
    """Add to the counts of removed events, inside a transaction."""
    log_counts, lake_counts = Counter(log or {}), Counter(lake or {})
    for day, event_type, entity_type in sorted({*log_counts, *lake_counts}):
        kind = (day, event_type, entity_type)
        key = {"day": day, "event_type": event_type, "entity_type": entity_type}
        is_kind = (_REMOVED.day == day) & (_REMOVED.event_type == event_type) & (_REMOVED.entity_type == entity_type)
        sums = {
            "log_count": _REMOVED.log_count + log_counts[kind],
            "lake_count": _REMOVED.lake_count + lake_counts[kind],
        }
        if not connection.execute(update(removed_events).where(is_kind).values(**sums)).rowcount:
            counts = {"log_count": log_counts[kind], "lake_count": lake_counts[kind]}
            connection.execute(insert(removed_events), key | counts)
