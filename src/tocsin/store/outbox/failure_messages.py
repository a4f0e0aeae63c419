"""What messages about failures and recoveries refer to: earlier failures, what lies downstream, the first message.

Asked only for a message about one failure or recovery: the reports of its asset are few and indexed.
Next: ``delivery/channels``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import Connection, Engine, select

from tocsin.delivery.dispatch import Answered, Dispatch, FailureContext
from tocsin.delivery.wording.reports import is_recovery
from tocsin.flow.match.streak import report_in
from tocsin.flow.resolve.directory import NO_END
from tocsin.model.message import MessageStatus
from tocsin.model.status import SUCCESS, is_failure, verdict_of
from tocsin.store.database.documents import from_text
from tocsin.store.database.engine import reading
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.tables import attempt, change_event, message, notification
from tocsin.store.recipients.directory import SqlDirectory

_HOPS = 3
_MOST_REPORTS = 500
"""So many reports before a success are looked through."""


class FailureMessages:
    """The messages of one store that told of failures."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._directory = SqlDirectory(engine)

    def find_answered(self, dispatch: Dispatch) -> Answered | None:
        """Return the first message of these failures to the same recipient; None if there was none, or no recovery."""
        if len(dispatch.entries) > 1 or not is_recovery(dispatch.event):
            return None
        with reading(self._engine) as connection:
            reports = _reports(connection, dispatch.event.entity_id, dispatch.first.log_offset)
            offsets = [one.offset for one in reports]
            if not offsets:
                return None
            own_recipient = select(message.c.recipient).where(message.c.id == dispatch.message.id).scalar_subquery()
            query = (
                select(message.c.id, attempt.c.remote_id)
                .join(notification, notification.c.message_id == message.c.id)
                .join(attempt, attempt.c.message_id == message.c.id)
                .where(notification.c.log_offset.in_(offsets), message.c.recipient == own_recipient)
                .where(message.c.channel == dispatch.message.channel, message.c.status == MessageStatus.DELIVERED)
                .order_by(notification.c.log_offset, attempt.c.number.desc())
                .limit(1)
            )
            sent_message = connection.execute(query).first()
        return None if sent_message is None else Answered(sent_message.id, sent_message.remote_id)

    def context_of(self, dispatch: Dispatch) -> FailureContext:
        """Return what surrounds the failure that a message is about, and all that lies downstream, hidden or not."""
        entity_id, offset = dispatch.event.entity_id, dispatch.first.log_offset
        with reading(self._engine) as connection:
            earlier = [one.timestamp_ms for one in _reports(connection, entity_id, offset) if one.has_failed]
        steps = [one for one in self._directory.reach({entity_id}, _HOPS) if one.hops and one.until_offset == NO_END]
        names = dict.fromkeys(one.node_fqn for one in sorted(steps, key=lambda one: (one.hops, one.node_fqn)))
        return FailureContext(earlier[-1] if earlier else None, len(earlier) + 1, tuple(names))


class _Reported(NamedTuple):
    offset: int
    timestamp_ms: int
    has_failed: bool


def _reports(connection: Connection, entity_id: str, before: int) -> Iterator[_Reported]:
    """Yield what an asset reported since its last success, newest first."""
    report = status_report.c
    query = (
        select(report.log_offset, change_event.c.derived, change_event.c.timestamp_ms)
        .join(change_event, change_event.c.log_offset == report.log_offset)
        .where(report.entity_id == entity_id, report.log_offset < before)
        .order_by(report.log_offset.desc())
        .limit(_MOST_REPORTS)
    )
    for offset, derived, timestamp_ms in connection.execute(query):
        reported = report_in(from_text(derived), timestamp_ms)
        verdict = verdict_of(reported.status) if reported is not None and reported.status is not None else None
        if verdict == SUCCESS:
            return
        yield _Reported(offset, timestamp_ms, verdict is not None and is_failure(verdict))
