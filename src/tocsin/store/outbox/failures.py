"""Failures of destinations that are not reported yet.

The rules are in ``flow/track/failing.py``. Next: ``delivery/worker/failure_reports.py``.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Engine, and_, select

from tocsin.model.destination_failure import DestinationFailure
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import destination_status

_AT = destination_status.c


class DestinationFailures:
    """The failing destinations of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def unreported_failures(self) -> list[DestinationFailure]:
        """Return the failures that are not reported yet, oldest first."""
        query = select(
            _AT.subscription_id,
            _AT.destination_id,
            _AT.failing_since_ms.label("since_ms"),
            _AT.failing_percent.label("percent"),
            _AT.failing_count.label("count"),
            _AT.last_failed_reason.label("last_reason"),
            _AT.last_failed_status_code.label("last_status_code"),
        )
        owed = query.where(_AT.failing_percent > _AT.reported_percent).order_by(_AT.failing_since_ms)
        with reading(self._engine) as connection:
            return [DestinationFailure(**row._mapping) for row in connection.execute(owed)]

    def mark_reported(self, failure: DestinationFailure) -> None:
        """Note that a failure was reported, unless another streak has begun since."""
        same = _here(failure.subscription_id, failure.destination_id) & (_AT.failing_since_ms == failure.since_ms)
        with writing(self._engine) as connection:
            connection.execute(destination_status.update().where(same).values(reported_percent=failure.percent))


def _here(subscription_id: str, destination_id: str) -> ColumnElement[bool]:
    return and_(_AT.subscription_id == subscription_id, _AT.destination_id == destination_id)
