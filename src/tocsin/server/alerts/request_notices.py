"""Notices of a change request: who was told for each consumer, by which channel, when, and whether they read it.

Who announced a change knows this of all consumers; others of themselves, and of alerts that they edit.
Next: ``server/routes/changes.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from tocsin.model.change_request import AnnouncedChange
from tocsin.model.notification_record import NotificationRecord
from tocsin.server.access.references import with_names
from tocsin.server.alerts.audience import records_known_to, status_of
from tocsin.server.changes.told import ToldConsumer
from tocsin.server.request import Caller

_MOST_EVENTS = 8
"""Newest events of a request, its announcement and reminders, of which it is said whom they told."""
_MOST_TOLD = 20
"""Notifications that are shown of one consumer."""


def notices_by_consumer(
    request: AnnouncedChange, consumer_ids: Collection[str], caller: Caller
) -> dict[str, list[ToldConsumer]]:
    """Return, by consumer, the notifications to those who answered for it then, newest first."""
    events = caller.parts.alert_stores.asked_consumers.newest_of_request(request.id, limit=_MOST_EVENTS)
    user_ids = {user for event in events for key in consumer_ids for user in event.people.get(key, ())}
    if not user_ids:
        return {}
    all_records = caller.parts.alert_stores.records.of_people([event.offset for event in events], user_ids)
    records = all_records if caller.actor.id == request.author_id else records_known_to(caller, all_records)
    by_place: dict[tuple[int, str], list[NotificationRecord]] = defaultdict(list)
    for record in records:
        by_place[record.notification.log_offset, str(record.notification.recipient_id)].append(record)
    users = with_names([{"id": one, "type": "user"} for one in sorted({user for _, user in by_place})], caller)
    notices = {
        key: [
            ToldConsumer(users[user_id], event.kind, status_of(record), record)
            for event in events
            for user_id in sorted(event.people.get(key, ()))
            for record in by_place[event.offset, user_id]
        ]
        for key in consumer_ids
    }
    return {key: many[:_MOST_TOLD] for key, many in notices.items()}
