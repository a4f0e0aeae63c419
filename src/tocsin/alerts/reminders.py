"""Reminders of incidents that nobody has acknowledged: an event of the asset, for the alerts that ask for it.

An alert with ``trigger.repeatInterval`` reminds of each incident that it watches. One event names all alerts that do at
the same time, by keys that do not say which they are, and only these match it. It is written in the transaction that
notes when they have reminded, so it is written once. Why: docs/decisions/0160-a-reminder-is-an-event-of-the-asset.md.
Next: ``jobs/reminders.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.write import Ids, Record
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import Plan
from tocsin.model.alert_incident import AlertIncident, AlertIncidentStep, StepKind, reminder_event_id, reminder_key
from tocsin.model.change import INCIDENT_REMINDER, ChangeEvent, EventType, LoggedEvent, describe
from tocsin.model.stored import Key, Stored

_AFTER_ALL = 2**53
"""An offset after all others: the event that is about to be written follows every alert's creation."""


def remind(record: Record, incident_id: str, plans: Mapping[str, Plan]) -> bool:
    """Remind of an incident in the name of those of these alerts that must now; return whether any does.

    ``plans`` are those of alerts that remind, by id. An alert whose condition is no longer met by the asset reminds of
    the next incident that is merged with this one and that it watches, if its condition is met there; of a deleted
    asset none does.
    """
    reminders = record.transaction.incident_reminders
    subject = _hold(record, incident_id)
    repeats_ms = {alert: plan.repeat_ms for alert, plan in plans.items() if plan.repeat_ms is not None}
    due_alerts = reminders.due(incident_id, repeats_ms, record.at_ms)
    if subject is None or not due_alerts:
        return False
    reminders.note(incident_id, due_alerts, record.at_ms)
    silent_alerts = set(due_alerts) - _remind_of(record, subject, [plans[alert] for alert in due_alerts])
    for part_id, alert_ids in reminders.behind(incident_id, silent_alerts).items() if silent_alerts else ():
        part = _hold(record, part_id)
        if part is not None and (asking_alerts := silent_alerts & alert_ids):
            silent_alerts -= _remind_of(record, part, [plans[alert] for alert in sorted(asking_alerts)])
    return len(silent_alerts) < len(due_alerts)


def _hold(record: Record, incident_id: str) -> tuple[AlertIncident, Stored] | None:
    """Return an incident and its asset, both held; None if one of them is not there."""
    incidents = record.transaction.alert_incidents
    place = incidents.place_of(incident_id)
    if place is None:
        return None
    # The asset is held before the incident, as by who handles it.
    asset = record.transaction.find(place.entity_type, Key.by_id(place.entity_id), Hold.SHARED)
    incident = incidents.hold(incident_id)
    return None if asset is None or asset.is_deleted or incident is None else (incident, asset)


def _remind_of(record: Record, subject: tuple[AlertIncident, Stored], plans: Iterable[Plan]) -> set[str]:
    """Remind of an incident in the name of those of these alerts that match it; return their ids."""
    incident, asset = subject
    matching_plans = [plan for plan in plans if _is_matched(record, asset, incident, plan)]
    event = _note_event(record, asset, incident, matching_plans) if matching_plans else None
    if event is None:
        return set()
    step = AlertIncidentStep(
        id=record.ids.entity(),
        incident_id=incident.id,
        kind=StepKind.REMINDED,
        at_ms=record.at_ms,
        user_id=record.actor.id,
        user_name=record.actor.name,
        event_id=event.id,
    )
    record.transaction.alert_incidents.take(replace(incident, updated_at_ms=record.at_ms), step)
    return {plan.subscription_id for plan in matching_plans}


def _note_event(record: Record, asset: Stored, incident: AlertIncident, plans: Iterable[Plan]) -> ChangeEvent | None:
    """Add the event that names these alerts; return it."""
    number = record.transaction.incident_reminders.count(incident.id) + 1
    ids = Ids(record.ids.entity, lambda: reminder_event_id(incident.id, number))
    reminder = {
        "id": incident.id,
        "name": incident.name,
        "since": incident.opened_at_ms,
        "timestamp": record.at_ms,
        "number": number,
        "alerts": sorted(reminder_key(plan.subscription_id) for plan in plans),
    }
    description = describe(INCIDENT_REMINDER, new=reminder)
    noting = replace(record, ids=ids)  # appends to the events of ``record``
    return noting.note(asset, description, event_type=EventType.INCIDENT_REMINDER).event


def _is_matched(noting: Record, asset: Stored, incident: AlertIncident, plan: Plan) -> bool:
    """Return whether an alert matches its own reminder of an incident of the asset; the record stays as it is."""
    reminder = {"name": incident.name, "alerts": [reminder_key(plan.subscription_id)]}
    noting.note(asset, describe(INCIDENT_REMINDER, new=reminder), event_type=EventType.INCIDENT_REMINDER)
    captured = noting.events.pop()
    return matches(plan, LoggedEvent(_AFTER_ALL, captured.event, captured.derived))
