"""Names of destinations, which stand beside the masked addresses that messages went to."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tocsin.model.notification_record import NotificationRecord
from tocsin.server.request import Caller

DestinationNames = Mapping[tuple[str, str], str]
"""What destinations are called, by the ids of alert and destination; many have no name."""


def destination_names(alert_ids: Collection[str], caller: Caller) -> DestinationNames:
    """Return what destinations of these alerts are called."""
    alerts = caller.parts.subscriptions.list_all(alert_ids) if alert_ids else []
    return {
        (alert.id, destination.id): destination.name
        for alert in alerts
        if alert.id in alert_ids
        for destination in alert.destinations
        if destination.name
    }


def names_of(record: NotificationRecord, names: DestinationNames) -> list[str]:
    """Return the names of the destinations for which a notification is sent, each once."""
    keys = (reason.destination_key for reason in record.notification.reasons)
    return list(dict.fromkeys(names[key] for key in keys if key in names))
