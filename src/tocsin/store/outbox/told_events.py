"""Newest events that alerts told of, the alerts that told of the same ones, and what people did about them.

Next: ``server/alerts/noise.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Engine, or_, select

from tocsin.model.alert_incident import StepKind
from tocsin.store.database.alert_tables import alert_incident_step, firing, incident_watcher
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event, notification
from tocsin.store.outbox.firings import alerts_in

_ACTS = tuple(kind.value for kind in (StepKind.ACKNOWLEDGED, StepKind.ASSIGNED, StepKind.RESOLVED, StepKind.COMMENTED))
"""Steps of an incident by which a person takes it up."""


@dataclass(frozen=True)
class ToldEvent:
    """The pair of an event and an alert that sent it to people or addresses."""

    log_offset: int
    alert_id: str
    entity_id: str
    entity_type: str


class ToldEvents:
    """The events of one store that alerts told of."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def newest(self, alert_ids: Collection[str], start: int, *, limit: int, most_notified: int) -> list[ToldEvent]:
        """Return the newest pairs of event and alert from that offset on, whole events up to these bounds."""
        columns = (firing.c.log_offset, firing.c.subscription_id, change_event.c.entity_id, change_event.c.entity_type)
        query = select(*columns, firing.c.notified_count)
        query = query.join(change_event, change_event.c.log_offset == firing.c.log_offset)
        query = query.where(
            firing.c.log_offset >= start, firing.c.notified_count > 0, firing.c.subscription_id.in_(alert_ids)
        )
        with reading(self._engine) as connection:
            pairs = connection.execute(query.order_by(firing.c.log_offset.desc()).limit(limit + 1)).all()
        cut_offset = pairs[-1].log_offset if len(pairs) > limit else -1
        notification_count = 0
        for pair in pairs:
            notification_count += pair.notified_count
            if notification_count > most_notified and pair.log_offset < pairs[0].log_offset:
                cut_offset = max(cut_offset, pair.log_offset)
                break
        return [ToldEvent(*pair[:4]) for pair in pairs if pair.log_offset > cut_offset]

    def acts_between(self, first: int, last: int) -> set[tuple[int, str]]:
        """Return the pairs of event and alert between two offsets on which a person acted.

        They marked as done, saved or snoozed what the alert told them of, or took up an incident that it watches.
        """
        marks, step, watcher = notification.c, alert_incident_step.c, incident_watcher.c
        is_marked = or_(marks.done_at_ms.is_not(None), marks.saved_at_ms.is_not(None), marks.snoozed_until_ms > 0)
        marked = select(marks.log_offset, marks.reasons).where(marks.log_offset.between(first, last), is_marked)
        taken_up = select(watcher.opened_offset, watcher.subscription_id)
        taken_up = taken_up.join(alert_incident_step, step.incident_id == watcher.incident_id)
        taken_up = taken_up.where(watcher.opened_offset.between(first, last), step.kind.in_(_ACTS))
        with reading(self._engine) as connection:
            of_inboxes = connection.execute(marked.distinct()).all()
            of_incidents = connection.execute(taken_up.distinct()).all()
        acts = {(offset, alert) for offset, reasons in of_inboxes for alert in alerts_in(reasons)}
        return acts | {(row.opened_offset, row.subscription_id) for row in of_incidents}
