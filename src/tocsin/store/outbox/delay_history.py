"""How long notifications took over the last hours: from the event to the bell, by periods of equal length.

Nothing is kept for it: the log and the notifications say it. Of each period a bounded number of notifications is read,
the first ones, and events are counted by their offsets, so that the log's length costs nothing. An event that arrives
late counts in the period in which it arrived.
Next: ``server/routes/system/lag.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Engine, and_, func, select

from tocsin.model.change import RECORDED
from tocsin.model.message import SUPPRESSED
from tocsin.model.subscription import Channel
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import GIVEN_UP_MESSAGE, attempt, change_event, message, notification

MOST_OF_PERIOD = 200
"""Delays that are taken of one period, of at most ten times as many notifications."""

MOST_GIVEN_UP = 10_000
"""Unsent messages of one period of which it is read whether they are dead letters."""

_LOOKED_AT, _COMPARED = 200, 20
"""Events that are read from the begin of a period, and those of them of which the lowest offset is the first one's."""

_EVENT = change_event.c
_IS_RECORDED = _EVENT.derived.contains(f'"{RECORDED}"')


class DelayPeriod(NamedTuple):
    """What happened in a period, and how long its notifications took, in seconds; None where there were none.

    ``event_count`` comes of offsets, which have gaps: it is an upper bound.
    """

    begins_ms: int
    event_count: int
    notification_count: int
    median_s: float | None
    p95_s: float | None
    given_up_count: int


class DelayHistory:
    """Delays of the notifications of one store."""

    def __init__(self, engine: Engine, *, most_of_period: int = MOST_OF_PERIOD) -> None:
        self._engine, self._most_of_period = engine, most_of_period

    def periods(self, count: int, *, length_ms: int, now_ms: int) -> list[DelayPeriod]:
        """Return the last ``count`` periods, oldest first; the last one ends now."""
        begins = [now_ms - length_ms * (count - index) for index in range(count)]
        with reading(self._engine) as connection:
            end = int(connection.execute(select(func.coalesce(func.max(_EVENT.log_offset), 0))).scalar_one()) + 1
            starts = [_first_offset(connection, begins_ms, end) for begins_ms in begins]
            for index in reversed(range(count - 1)):  # a late event has an early time and a high offset
                starts[index] = min(starts[index], starts[index + 1])
            ends = [*starts[1:], end]
            return [
                self._period(connection, (begins_ms, begins_ms + length_ms), (start, stop))
                for begins_ms, start, stop in zip(begins, starts, ends, strict=True)
            ]

    def _period(self, connection: Connection, times: tuple[int, int], offsets: tuple[int, int]) -> DelayPeriod:
        delays = self._delays(connection, *offsets)
        given_up_count = _given_up_count(connection, *times)
        median_s, p95_s = quantile(delays, 0.5), quantile(delays, 0.95)
        return DelayPeriod(times[0], offsets[1] - offsets[0], len(delays), median_s, p95_s, given_up_count)

    def _delays(self, connection: Connection, start: int, stop: int) -> list[float]:
        """Return how long the first notifications of a stretch of the log took, sorted, in seconds.

        Those from before their events are left out: a clock was set back.
        """
        note = notification.c
        first_notes = select(note.log_offset, note.channel, note.created_at_ms)
        first_notes = first_notes.where(note.log_offset >= start, note.log_offset < stop)
        candidate = first_notes.order_by(note.log_offset).limit(10 * self._most_of_period).subquery().c
        query = select(candidate.created_at_ms - _EVENT.timestamp_ms).join(
            change_event, _EVENT.log_offset == candidate.log_offset
        )
        query = query.where(candidate.channel == Channel.ACTIVITY_FEED.value, ~_IS_RECORDED)
        query = query.where(candidate.created_at_ms >= _EVENT.timestamp_ms)
        query = query.order_by(candidate.log_offset).limit(self._most_of_period)
        return sorted(delay_ms / 1000 for delay_ms in connection.scalars(query))


def _given_up_count(connection: Connection, since_ms: int, until_ms: int) -> int:
    """Return how many messages became dead letters in a period: given up, and not unsent on purpose."""
    row = message.c
    unsent = select(row.id, row.attempt_count).where(GIVEN_UP_MESSAGE, row.updated_at_ms >= since_ms)
    letter = unsent.where(row.updated_at_ms < until_ms).limit(MOST_GIVEN_UP).subquery().c
    is_last = and_(attempt.c.message_id == letter.id, attempt.c.number == letter.attempt_count)
    is_suppressed = func.coalesce(attempt.c.reason.in_(sorted(SUPPRESSED)), False)
    query = select(func.count(letter.id)).outerjoin(attempt, is_last).where(~is_suppressed)
    return int(connection.execute(query).scalar_one())


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which a share of sorted values lies, the nearest one; None of none."""
    return values[min(len(values) - 1, int(share * len(values)))] if values else None


def _first_offset(connection: Connection, since_ms: int, end: int) -> int:
    """Return the offset of the first event since a time that is no record of the past; ``end`` where there is none.

    The first by time alone may be one that arrived late, after many others.
    """
    columns = (_EVENT.log_offset, _EVENT.timestamp_ms, _IS_RECORDED.label("is_recorded"))
    events = select(*columns).where(_EVENT.timestamp_ms >= since_ms).order_by(_EVENT.timestamp_ms).limit(_LOOKED_AT)
    event = events.subquery().c
    query = select(event.log_offset).where(~event.is_recorded).order_by(event.timestamp_ms).limit(_COMPARED)
    return min(connection.scalars(query), default=end)
