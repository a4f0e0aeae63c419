"""What a person has read outside the inbox, by a link or button of a message: read there as well, with its cause.

Next: ``server/access/inbox_causes.py``.
"""

from __future__ import annotations

from tocsin.access.person_visibility import Visibility
from tocsin.model.inbox import Mark, Tab
from tocsin.model.notification import Notification
from tocsin.model.people import Actor
from tocsin.model.subscription import Channel
from tocsin.server.access.inbox import InboxView
from tocsin.server.access.inbox_causes import causes_of_inbox
from tocsin.server.build import Parts
from tocsin.store.outbox.inbox import PageOf


def note_read(notification: Notification, actor: Actor, parts: Parts) -> int:
    """Mark as read what the inbox of a person has of the event of a message that they have read, and of its cause.

    Only what they may still see is marked. What the cause did after the newest event of the message is left alone:
    they have not seen it. Nothing happens if they were told of the event in no inbox. Returns how many notifications.
    """
    in_app_ids = {
        one_id
        for one_id, record in parts.alert_stores.records.of_user(notification.log_offset, actor.id).items()
        if record.notification.channel == Channel.ACTIVITY_FEED.value
    }
    now_ms, policies = parts.clock.now_ms(), parts.access.permission_cache.current_policies()
    view = InboxView(parts.inbox, actor.id, now_ms, Visibility(policies.of(actor.id), parts.access.standing))
    present_ids = view.present_ids(in_app_ids)
    if not present_ids:
        return 0
    cause_ids = _unread_of_cause(view, notification, parts)
    own_mark = parts.inbox.mark(actor.id, present_ids, Mark.READ, now_ms, among=present_ids)
    cause_mark = view.mark(cause_ids, Mark.READ)
    return own_mark.notification_count + cause_mark.notification_count


def _unread_of_cause(view: InboxView, notification: Notification, parts: Parts) -> list[str]:
    """Return the ids of the unread entries of the cause of a notification, up to the newest event of its message."""
    through = parts.alert_stores.records.newest_offset_of_message(notification.id)
    for cause in causes_of_inbox(view, PageOf(Tab.ALL)):
        if any(head.facts.offset == notification.log_offset for head in cause.heads):
            return [head.id for head in cause.heads if not head.is_read and head.facts.offset <= through]
    return []
