"""Due time of a notification: immediate, until preferences, quiet hours and digests exist.

The pipeline computes the same as SQL in ``spark/schedule.py``; tests compare both. Next: ``flow/send`` for messages;
in-app notifications are already in the inbox.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.model.notification import Notification, Reason, message_id, notification_id
from tocsin.model.subscription import Channel


@dataclass(frozen=True)
class Scheduled:
    """A notification with its due time, and the message that carries it unless it is in-app.

    ``reason`` is the first of the notification's reasons: its subscription and destination are the
    message's. ``message_id`` is None for the inbox, whose row is its own message.
    """

    notification: Notification
    target: str
    reason: Reason
    message_id: str | None


def due_at_ms(*, now_ms: int) -> int:
    """Return when what is resolved at ``now_ms`` is due (epoch milliseconds)."""
    return now_ms


def schedule(
    event_id: str,
    log_offset: int,
    *,
    channel: Channel,
    key: str,
    target: str,
    user_id: str | None,
    reasons: tuple[Reason, ...],
    now_ms: int,
) -> Scheduled:
    """Return the one notification of this event for this recipient, due when it should be."""
    identity = notification_id(event_id, channel, key)
    notification = Notification(
        id=identity,
        event_id=event_id,
        log_offset=log_offset,
        channel=channel,
        recipient=key,
        recipient_id=user_id,
        reasons=reasons,
        due_at_ms=due_at_ms(now_ms=now_ms),
        created_at_ms=now_ms,
    )
    leaves = channel is not Channel.ACTIVITY_FEED
    return Scheduled(notification, target, reasons[0], message_id(identity) if leaves else None)
