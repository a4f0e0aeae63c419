"""Messages in the timeline of an incident: who was told, by which alerts, on which channel, and what came of it.

Administrators and who may edit an alert that watches the incident see whom it told; everybody else sees what they got
themselves. Next: ``server/alerts/incidents.py``.
"""

from __future__ import annotations

from tocsin.delivery.channels.table import phrase_of
from tocsin.delivery.wording.timelines import message_sentence
from tocsin.model.alert_incident import AlertIncident
from tocsin.model.entity import Document
from tocsin.model.message import MessageStatus
from tocsin.model.notification_record import NotificationRecord
from tocsin.model.own_address import shown_target
from tocsin.server.access.references import with_names
from tocsin.server.alerts.destination_names import destination_names, names_of
from tocsin.server.alerts.explanations import editable_alerts
from tocsin.server.http.json_schema import ID, OPEN, TEXT, TIME, array, either, exact_object, nullable
from tocsin.server.request import Caller
from tocsin.store.outbox.incident_messages import MessageReader

MESSAGE = "message"
"""The ``kind`` of a moment at which a message told of the incident."""

MESSAGE_MOMENT = exact_object(
    {
        "kind": {"const": MESSAGE},
        "timestamp": TIME,
        "eventId": ID,
        "channel": TEXT,
        "recipient": OPEN,
        "alerts": array(OPEN),
        "destinations": array(TEXT),
        "status": either(*MessageStatus),
        "reason": nullable(TEXT),
        "says": TEXT,
    }
)


def message_moments(incident: AlertIncident, caller: Caller) -> tuple[list[Document], bool]:
    """Return who was told of an incident, in the order of the log, and whether that is everybody."""
    reader = None if caller.actor.is_admin else MessageReader(caller.actor.id, _editable(incident, caller))
    records, is_whole = caller.parts.alert_stores.incident_messages.of(incident.lead_id, reader)
    alert_ids = {reason.subscription_id for record in records for reason in record.notification.reasons}
    alerts = [{"id": one, "type": "eventsubscription"} for one in sorted(alert_ids)]
    people = [{"id": one.notification.recipient_id, "type": "user"} for one in records if one.notification.recipient_id]
    visible_ids = caller.visibility.sees(alerts)
    references = with_names([*alerts, *people], caller)
    shown_alerts = {one: references[one] for one in alert_ids if one in visible_ids}
    names = destination_names(shown_alerts, caller)
    moments = [
        _moment(record, shown_alerts, references) | {"destinations": names_of(record, names)} for record in records
    ]
    return [_with_sentence(moment) for moment in moments], is_whole and reader is None


def _editable(incident: AlertIncident, caller: Caller) -> set[str]:
    """Return the ids of the alerts that watch an incident and that the caller may edit."""
    watchers = caller.parts.alert_stores.incidents.watchers([incident.lead_id])[incident.lead_id]
    alerts = [one for one in caller.parts.subscriptions.list_all(watchers) if one.id in watchers]
    return {alert.id for alert in editable_alerts(alerts, caller)}


def _moment(record: NotificationRecord, alerts: dict[str, Document], references: dict[str, Document]) -> Document:
    notification, message = record.notification, record.message
    last = message.attempts[-1] if message and message.attempts else None
    ids = dict.fromkeys(reason.subscription_id for reason in notification.reasons)
    return {
        "kind": MESSAGE,
        "timestamp": last.started_at_ms if last else notification.created_at_ms,
        "eventId": notification.event_id,
        "channel": notification.channel,
        "recipient": references[notification.recipient_id]
        if notification.recipient_id
        else {"name": _address_of(record)},
        "alerts": [alerts[one] for one in ids if one in alerts],
        "status": message.status if message else MessageStatus.DELIVERED.value,
        "reason": last.reason if last else None,
    }


def _with_sentence(moment: Document) -> Document:
    return moment | {"says": message_sentence(moment, phrase_of(moment["channel"]))}


def _address_of(record: NotificationRecord) -> str:
    return shown_target(record.message.target) if record.message else record.notification.address
