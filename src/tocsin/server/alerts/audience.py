"""Audience of an event: who was told by what channel, who has read it, and which assets it affects that nobody owns.

Of others, a caller knows what administrators and editors of the alert may; of themselves, everything. Who acknowledged
the incident of a failure is known to all who may view its asset. Next: ``store/outbox/records.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tocsin.delivery.dispatch import FailureIncident
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.notification_record import NotificationRecord
from tocsin.model.subscription import Channel
from tocsin.model.thread import THREAD
from tocsin.server.access.permissions import visible_references
from tocsin.server.alerts.destination_names import destination_names, names_of
from tocsin.server.alerts.explanations import MOST_RECORDS, editable_alerts, visible_alerts
from tocsin.server.alerts.inbox_details import shown_incidents
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, FLAG, ID, OPEN, TEXT, TIME, array, exact_object, nullable
from tocsin.server.request import Caller
from tocsin.store.outbox.failure_incidents import ReportPlace

_DEPTH = 5
_MOST_UNOWNED = 20


@dataclass(frozen=True)
class _ToldPerson:
    """A person, or an address with what its destinations are called, and the notifications to them."""

    records: Sequence[NotificationRecord]
    destinations: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Return what they are called."""
        return self.records[0].who

    @property
    def read_at_ms(self) -> int | None:
        """Return when they have read it in the app."""
        return min((one.read_at_ms for one in self.records if one.read_at_ms is not None), default=None)


def status_of(record: NotificationRecord) -> str:
    """Return how far a notification is: the status of its message; in the app, whether it is shown, and read."""
    if record.message is not None:
        return record.message.status
    if record.is_off:
        return "off"
    is_shown = record.notification.channel == Channel.ACTIVITY_FEED.value
    return "read" if record.read_at_ms is not None else "unread" if is_shown else "pending"


_CHANNEL: Shape[NotificationRecord] = {
    "type": (TEXT, lambda record: record.notification.channel),
    "status": (TEXT, status_of),
}
_TOLD_PERSON: Shape[_ToldPerson] = {
    "userId": (nullable(ID), lambda told_person: told_person.records[0].notification.recipient_id),
    "name": (TEXT, lambda told_person: told_person.name),
    "displayName?": (TEXT, lambda told_person: told_person.records[0].display_name),
    "destinations?": (array(TEXT), lambda told_person: list(told_person.destinations) or None),
    "channels": (
        array(schema_of(_CHANNEL)),
        lambda told_person: [json_of(_CHANNEL, one) for one in told_person.records],
    ),
    "readAt?": (TIME, lambda told_person: told_person.read_at_ms),
}


@dataclass(frozen=True)
class _Audience:
    """Who was told of an event, as far as the caller may know, and what it affects that nobody owns."""

    told_people: Sequence[_ToldPerson]
    page: Sequence[_ToldPerson]
    incident: FailureIncident | None
    unowned: Sequence[Document]
    is_complete: bool


AUDIENCE: Shape[_Audience] = {
    "data": (array(schema_of(_TOLD_PERSON)), lambda audience: [json_of(_TOLD_PERSON, one) for one in audience.page]),
    "isComplete": (FLAG, lambda audience: audience.is_complete),
    "readCount": (COUNT, lambda audience: sum(one.read_at_ms is not None for one in audience.told_people)),
    "incident?": (TEXT, lambda audience: audience.incident.name if audience.incident else None),
    "acknowledgedBy?": (TEXT, lambda audience: audience.incident.acknowledged_by if audience.incident else None),
    "acknowledgedByDisplayName?": (
        TEXT,
        lambda audience: audience.incident.acknowledger if audience.incident else None,
    ),
    "unowned": (
        exact_object({"total": COUNT, "data": array(OPEN)}),
        lambda audience: {"total": len(audience.unowned), "data": list(audience.unowned[:_MOST_UNOWNED])},
    ),
}
"""Who was told; complete for administrators, unless there are too many notifications."""


def audience_of_event(logged: LoggedEvent, caller: Caller, *, limit: int, skip: int) -> Document:
    """Return the audience of an event that the caller may view, ``limit`` people and addresses after ``skip``."""
    records = list(caller.parts.alert_stores.records.of_event(logged.offset, limit=MOST_RECORDS).values())
    known_records = records_known_to(caller, records)
    told_people = sorted(
        _told_people(known_records, caller),
        key=lambda one: (one.name, one.destinations, one.records[0].notification.id),
    )
    is_complete = caller.actor.is_admin and len(records) < MOST_RECORDS
    page = told_people[skip : skip + limit]
    audience = _Audience(
        told_people, page, _incident_of(logged, caller), _unowned_assets(logged.event, caller), is_complete
    )
    paging: Document = {"total": len(told_people)}
    if limit and skip + limit < len(told_people):
        paging["after"] = str(skip + limit)
    return json_of(AUDIENCE, audience) | {"paging": paging}


def _told_people(records: Sequence[NotificationRecord], caller: Caller) -> Iterator[_ToldPerson]:
    """Yield the people and addresses that were told; those of which only the masks are equal by their names."""
    alert_ids = {reason.subscription_id for record in records for reason in record.notification.reasons}
    visible_ids = caller.visibility.sees([{"id": one, "type": "eventsubscription"} for one in sorted(alert_ids)])
    names = destination_names(alert_ids & set(visible_ids), caller)
    by_target: dict[tuple[str, tuple[str, ...]], list[NotificationRecord]] = defaultdict(list)
    for record in sorted(records, key=lambda one: one.notification.channel):
        person_id = record.notification.recipient_id
        by_target[(person_id, ()) if person_id else (record.who, tuple(names_of(record, names)))].append(record)
    for (_, destinations), own_records in by_target.items():
        yield _ToldPerson(own_records, destinations)


def records_known_to(caller: Caller, records: Sequence[NotificationRecord]) -> list[NotificationRecord]:
    """Return those of these notifications that the caller may know of: their own, and those of alerts they edit."""
    me = caller.actor
    if me.is_admin:
        return list(records)
    alert_ids = {reason.subscription_id for record in records for reason in record.notification.reasons}
    alerts = [alert for alert in visible_alerts(caller) if alert.id in alert_ids] if alert_ids else []
    own_alerts = {alert.id for alert in editable_alerts(alerts, caller)}
    return [
        record
        for record in records
        if record.notification.recipient_id == me.id
        or any(reason.subscription_id in own_alerts for reason in record.notification.reasons)
    ]


def _incident_of(logged: LoggedEvent, caller: Caller) -> FailureIncident | None:
    place = ReportPlace(logged.event.entity_id, logged.offset)
    incidents, _ = caller.parts.alert_stores.failure_messages.incidents_and_runbooks({place: logged.event})
    incident = incidents.get(place)
    if incident is None or not caller.visibility.sees_incidents({incident.name}):
        return None
    return shown_incidents({place: incident}, caller.visibility)[place]


def _unowned_assets(event: ChangeEvent, caller: Caller) -> list[Document]:
    """Return what lies downstream of what the event is about, by lineage of now, may be seen, and has no owner."""
    graph = caller.parts.graph.impact
    assets = visible_references(caller, (one.asset for one in graph.walk(_root_of(event, caller), _DEPTH).reached))
    owners = graph.owners({asset["id"] for asset in assets})
    return [asset for asset in assets if not owners.get(asset["id"])]


def _root_of(event: ChangeEvent, caller: Caller) -> Document:
    if event.entity_type == THREAD:
        return (event.entity or {}).get("entityRef") or {"type": THREAD, "id": event.entity_id}
    table_id = caller.parts.inbox.subject_assets({event.entity_id}).get(event.entity_id)
    return {"type": event.entity_type, "id": event.entity_id} if table_id is None else {"type": "table", "id": table_id}
