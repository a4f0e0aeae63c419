"""How long notifications took over the last hours: from the event to the bell, by periods of equal length.

Nothing is kept for it: the log and the notifications say it. Of each period a bounded number of notifications is read,
the first ones, and events are counted by their offsets, so that the log's length costs nothing.
Next: ``server/routes/system/lag.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Engine, func, select

from tocsin.model.change import RECORDED
from tocsin.model.subscription import Channel
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import GIVEN_UP_MESSAGE, change_event, message, notification

MOST_OF_PERIOD = 200
"""Notifications that are read of one period."""

MOST_GIVEN_UP = 10_000
"""Dead letters that are counted of one period."""

_EVENT = change_event.c


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
            ends = [*starts[1:], end]
            return [
                self._period(connection, (begins_ms, begins_ms + length_ms), (start, max(start, stop)))
                for begins_ms, start, stop in zip(begins, starts, ends, strict=True)
            ]

    def _period(self, connection: Connection, times: tuple[int, int], offsets: tuple[int, int]) -> DelayPeriod:
        start, stop = offsets
        delays = self._delays(connection, start, stop) if stop > start else []
        dead_query = select(message.c.id).where(GIVEN_UP_MESSAGE, message.c.updated_at_ms >= times[0])
        dead_query = dead_query.where(message.c.updated_at_ms < times[1]).limit(MOST_GIVEN_UP)
        given_up_count = int(connection.execute(select(func.count()).select_from(dead_query.subquery())).scalar_one())
        median_s, p95_s = quantile(delays, 0.5), quantile(delays, 0.95)
        return DelayPeriod(times[0], stop - start, len(delays), median_s, p95_s, given_up_count)

    def _delays(self, connection: Connection, start: int, stop: int) -> list[float]:
        """Return how long the first notifications of a stretch of the log took, sorted, in seconds."""
        in_app = (notification.c.channel == Channel.ACTIVITY_FEED.value, ~_EVENT.derived.contains(f'"{RECORDED}"'))
        query = select(notification.c.created_at_ms, _EVENT.timestamp_ms).select_from(notification)
        query = query.join(change_event, _EVENT.log_offset == notification.c.log_offset)
        query = query.where(notification.c.log_offset >= start, notification.c.log_offset < stop, *in_app)
        query = query.order_by(notification.c.log_offset).limit(self._most_of_period)
        told_rows = connection.execute(query)
        return sorted(max(0, created_ms - happened_ms) / 1000 for created_ms, happened_ms in told_rows)


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which a share of sorted values lies, the nearest one; None of none."""
    return values[min(len(values) - 1, int(share * len(values)))] if values else None


def _first_offset(connection: Connection, since_ms: int, end: int) -> int:
    """Return the offset of the first event since a time; ``end`` where there is none."""
    query = select(_EVENT.log_offset).where(_EVENT.timestamp_ms >= since_ms).order_by(_EVENT.timestamp_ms).limit(1)
    return int(connection.execute(query).scalar_one_or_none() or end)
