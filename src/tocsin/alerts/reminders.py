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

    ``plans`` are those of alerts that remind, by id. An alert whose condition is no longer met by the asset does not,
    and neither does any of a deleted asset.
    """
    incidents, reminders = record.transaction.alert_incidents, record.transaction.incident_reminders
    place = incidents.place_of(incident_id)
    if place is None:
        return False
    # The asset is held before the incident, as by who handles it.
    asset = record.transaction.find(place.entity_type, Key.by_id(place.entity_id), Hold.SHARED)
    incident = incidents.hold(incident_id)
    repeats_ms = {alert: plan.repeat_ms for alert, plan in plans.items() if plan.repeat_ms is not None}
    due = reminders.due(incident_id, repeats_ms, record.at_ms)
    if incident is None or not due:
        return False
    reminders.note(incident_id, due, record.at_ms)
    if asset is None or asset.is_deleted:
        return False
    number = reminders.count(incident_id) + 1
    event = _note_event(record, asset, incident, [plans[alert] for alert in due], number)
    if event is None:
        return False
    step = AlertIncidentStep(
        id=record.ids.entity(),
        incident_id=incident_id,
        kind=StepKind.REMINDED,
        at_ms=record.at_ms,
        user_id=record.actor.id,
        user_name=record.actor.name,
        event_id=event.id,
    )
    incidents.take(replace(incident, updated_at_ms=record.at_ms), step)
    return True


def _note_event(
    record: Record, asset: Stored, incident: AlertIncident, plans: Iterable[Plan], number: int
) -> ChangeEvent | None:
    """Add the event that names those of these alerts that match it; None if none does."""
    ids = Ids(record.ids.entity, lambda: reminder_event_id(incident.id, number))
    noting = replace(record, ids=ids)  # appends to the events of ``record``
    matching = [plan for plan in plans if _is_matched(noting, asset, incident, plan)]
    if not matching:
        return None
    reminder = {
        "id": incident.id,
        "name": incident.name,
        "since": incident.opened_at_ms,
        "timestamp": record.at_ms,
        "number": number,
        "alerts": sorted(reminder_key(plan.subscription_id) for plan in matching),
    }
    description = describe(INCIDENT_REMINDER, new=reminder)
    return noting.note(asset, description, event_type=EventType.INCIDENT_REMINDER).event


def _is_matched(noting: Record, asset: Stored, incident: AlertIncident, plan: Plan) -> bool:
    """Return whether an alert matches its own reminder of an incident of the asset; the record stays as it is."""
    reminder = {"name": incident.name, "alerts": [reminder_key(plan.subscription_id)]}
    noting.note(asset, describe(INCIDENT_REMINDER, new=reminder), event_type=EventType.INCIDENT_REMINDER)
    captured = noting.events.pop()
    return matches(plan, LoggedEvent(_AFTER_ALL, captured.event, captured.derived))
