"""Readers of the log, and how far each has read: nothing above the slowest is removed.

A reader that is further behind than the settings allow is told, and passed a day later; what it misses is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select, update

from tocsin.flow.eventlog.readers import MATCH_STREAM, STREAK_STREAM
from tocsin.model.retention import DAY_MS
from tocsin.store.database.alert_tables import backtest
from tocsin.store.database.log_tables import lake_segment, status_report
from tocsin.store.database.retention_tables import passed_reader
from tocsin.store.database.tables import change_event, pipeline_progress
from tocsin.store.eventlog.consumers import consumers_as_readers
from tocsin.store.eventlog.log import readable_end
from tocsin.store.outbox.match_results import KEPT_FROM

LAKE = "lake"
"""What the lake is called among the readers."""

_EVENT = change_event.c
_PASSED = passed_reader.c


@dataclass(frozen=True)
class Reader:
    """A reader of the log: what it is called, and the offset up to which it has read every event.

    ``waits_since_ms`` is the time of the next event that it has yet to read, None if there is none. ``is_passed``: it
    was told that it is too far behind, and is waited for no longer.
    """

    name: str
    log_offset: int
    waits_since_ms: int | None = None
    is_passed: bool = False


def readers_on(connection: Connection, *, needs_lake: bool) -> list[Reader]:
    """Return every reader, as this connection sees them; ``needs_lake``: the lake is one, even if it is empty."""
    end = readable_end(connection)
    progress = pipeline_progress.c
    offsets = {
        str(name): int(offset)
        for name, offset in connection.execute(select(progress.query_name, progress.log_offset))
        if name != KEPT_FROM
    }
    offsets.setdefault(MATCH_STREAM, 0)
    if STREAK_STREAM in offsets:
        offsets[STREAK_STREAM] = _before_next_report(connection, offsets[STREAK_STREAM], end)
    offsets |= {name: offset for name, offset, _ in consumers_as_readers(connection)}
    segment = lake_segment.c
    lake_end = connection.execute(
        select(func.max(segment.through_offset)).where(segment.state == "kept")
    ).scalar_one_or_none()
    if needs_lake or lake_end is not None:
        offsets[LAKE] = int(lake_end or 0)
    return [
        Reader(name, min(offset, end), _waits_since_ms(connection, offset, end))
        for name, offset in sorted(offsets.items())
    ]


def is_backtest_under_way(connection: Connection, *, now_ms: int, unseen_ms: int = 600_000) -> bool:
    """Return whether a backtest waits or runs that has not been given up."""
    row = backtest.c
    is_live = (row.state == "running") & (row.seen_at_ms >= now_ms - unseen_ms)
    return connection.execute(select(row.id).where(is_live).limit(1)).first() is not None


def tell_late_readers(
    connection: Connection, readers: Iterable[Reader], *, wait_days: int | None, now_ms: int
) -> tuple[list[Reader], list[str]]:
    """Note who is too far behind; return the readers with those that are passed marked, and who is told just now.

    One that has caught up counts as a reader like any other again.
    """
    report_times = {row.name: row.told_at_ms for row in connection.execute(select(_PASSED.name, _PASSED.told_at_ms))}
    judged_readers: list[Reader] = []
    news: list[str] = []
    for reader in readers:
        late_since_ms, told_at_ms = reader.waits_since_ms, report_times.get(reader.name, 0)
        is_late = wait_days is not None and late_since_ms is not None and late_since_ms < now_ms - wait_days * DAY_MS
        if is_late and not told_at_ms:
            _tell(connection, reader.name, now_ms, is_new=reader.name not in report_times)
            news.append(reader.name)
        elif not is_late and told_at_ms:
            _tell(connection, reader.name, 0, is_new=False)
        is_passed = is_late and bool(told_at_ms) and now_ms - told_at_ms >= DAY_MS
        judged_readers.append(Reader(reader.name, reader.log_offset, late_since_ms, is_passed))
    return judged_readers, news


def _tell(connection: Connection, name: str, told_at_ms: int, *, is_new: bool) -> None:
    if is_new:
        connection.execute(insert(passed_reader), {"name": name, "told_at_ms": told_at_ms})
    else:
        connection.execute(update(passed_reader).where(_PASSED.name == name).values(told_at_ms=told_at_ms))


def count_passed(connection: Connection, readers: Sequence[Reader], offsets: Sequence[int]) -> dict[str, int]:
    """Count the events at these offsets, which are removed, that a passed reader has not read."""
    missed_counts: dict[str, int] = {}
    for reader in readers:
        missed_offsets = [offset for offset in offsets if offset > reader.log_offset]
        if reader.is_passed and missed_offsets:
            missed_counts[reader.name] = len(missed_offsets)
            count_update = update(passed_reader).where(_PASSED.name == reader.name)
            connection.execute(
                count_update.values(
                    passed_count=_PASSED.passed_count + len(missed_offsets), passed_through=max(missed_offsets)
                )
            )
    return missed_counts


def horizon(connection: Connection, readers: Iterable[Reader]) -> int:
    """Return the offset below which events may be removed.

    It is that of the last event that the slowest reader has read. That one stays, as the readers' positions name it,
    and so does the last of the log: both stores tell the log's end by it.
    """
    offsets = [reader.log_offset for reader in readers if not reader.is_passed]
    slowest = min([*offsets, readable_end(connection)])
    last_read = connection.execute(select(func.max(_EVENT.log_offset)).where(_EVENT.log_offset <= slowest))
    return int(last_read.scalar_one() or 0)


def positions_of_passed(connection: Connection, readers: Iterable[Reader]) -> set[int]:
    """Return the offsets of the events that the positions of passed readers name: these stay."""
    anchors: set[int] = set()
    for reader in readers:
        if reader.is_passed:
            query = select(func.max(_EVENT.log_offset)).where(_EVENT.log_offset <= reader.log_offset)
            anchors.add(int(connection.execute(query).scalar_one() or 0))
    return anchors


def _before_next_report(connection: Connection, after: int, end: int) -> int:
    """Return how far a reader of reports has read: up to the next report, it has nothing to read."""
    place = status_report.c.log_offset
    coming = connection.execute(select(func.min(place)).where(place > after, place <= end)).scalar_one_or_none()
    return max(after, end) if coming is None else int(coming) - 1


def _waits_since_ms(connection: Connection, offset: int, end: int) -> int | None:
    coming = select(_EVENT.timestamp_ms).where(_EVENT.log_offset > offset, _EVENT.log_offset <= end)
    return connection.execute(coming.order_by(_EVENT.log_offset).limit(1)).scalar_one_or_none()
