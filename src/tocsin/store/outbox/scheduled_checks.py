"""Scheduled checks: the last time of each schedule that was checked, and the digests that wait for that.

Next: ``jobs/scheduled_checks.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, delete, exists, func, select

from tocsin.flow.schedule.decide import CHECK_WAIT_MS, key_of_check
from tocsin.model.message import MessageStatus
from tocsin.store.database.alert_tables import scheduled_check
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.tables import OPEN_MESSAGE, message

_UNTOUCHED = (
    OPEN_MESSAGE,
    message.c.status == MessageStatus.PENDING.value,
    message.c.lease_owner.is_(None),
    message.c.attempt_count == 0,
)


@dataclass(frozen=True)
class LastCheck:
    """The last time of a schedule that was checked (epoch milliseconds).

    ``through_offset``: its digests wait until the pipeline has read the log so far; None: they wait no more.
    """

    due_at_ms: int
    through_offset: int | None = None


class ScheduledChecks:
    """The scheduled checks of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def last_checks(self) -> Mapping[str, LastCheck]:
        """Return the last check of each schedule that has one."""
        with reading(self._engine) as connection:
            checks = connection.execute(select(scheduled_check))
            return {row.schedule_id: LastCheck(row.due_at_ms, row.through_offset) for row in checks}

    def keep(self, last_checks: Mapping[str, LastCheck]) -> None:
        """Store the last check of each of these schedules."""
        with writing(self._engine) as connection:
            for schedule_id, last in sorted(last_checks.items()):
                values = {"due_at_ms": last.due_at_ms, "through_offset": last.through_offset}
                upsert = insert_into(connection, scheduled_check).values(schedule_id=schedule_id, **values)
                connection.execute(upsert.on_conflict_do_update(index_elements=["schedule_id"], set_=values))

    def release(self, schedule_id: str, *, now_ms: int) -> int:
        """Send the digests of the times of a schedule until now, which wait for nothing more; return their number."""
        waits = (message.c.due_at_ms > now_ms, message.c.due_at_ms <= now_ms + CHECK_WAIT_MS)
        is_held = (message.c.grouping_key == key_of_check(schedule_id), *waits, *_UNTOUCHED)
        row, key = scheduled_check.c, scheduled_check.c.schedule_id == schedule_id
        with writing(self._engine) as connection:
            digests = connection.execute(message.update().where(*is_held).values(due_at_ms=now_ms, wait_ms=0))
            end = scheduled_check.update().where(key, row.through_offset.is_not(None)).values(through_offset=None)
            connection.execute(end)
            return digests.rowcount

    def retire(self, schedule_id: str, *, now_ms: int) -> None:
        """Release the digests of a schedule that no alert has any more, and forget it once none waits.

        Digests of a later time wait for that: until then nothing is written.
        """
        is_waiting = (message.c.grouping_key == key_of_check(schedule_id), *_UNTOUCHED)
        with reading(self._engine) as connection:
            first_due_at_ms = connection.scalar(select(func.min(message.c.due_at_ms)).where(*is_waiting))
        if first_due_at_ms is None:
            with writing(self._engine) as connection:
                is_abandoned = (scheduled_check.c.schedule_id == schedule_id, ~exists().where(*is_waiting))
                connection.execute(delete(scheduled_check).where(*is_abandoned))
        elif now_ms < first_due_at_ms <= now_ms + CHECK_WAIT_MS:
            self.release(schedule_id, now_ms=now_ms)
