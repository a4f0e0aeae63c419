"""Notification drafts of tests, with one reason for each alert, and notifications that go out at once."""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.flow.schedule.messages import ScheduledNotification, scheduled_notifications
from tocsin.model.match_result import MatchCounts, MatchResult
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.notification_draft import EventHead, NotificationDraft, reasons_of
from tocsin.model.subscription import Channel

EVENT = EventHead(1, "e", "orders", None, 10**15)


def reason(alert: str, kind: ReasonKind = ReasonKind.EXTERNAL, *, destination_id: str = "d") -> Reason:
    return Reason(kind=kind, subscription_id=alert, subscription_name=alert, destination_id=destination_id)


def draft(
    channel: str,
    *reasons: str | Reason,
    event: EventHead = EVENT,
    key: str = "k",
    recipient_id: str | None = None,
) -> NotificationDraft:
    """Return a draft that goes where its key says; an alert alone is a reason that names an address."""
    shared = reasons_of(tuple(reason(one) if isinstance(one, str) else one for one in reasons))
    return NotificationDraft(event, Channel(channel), key, key, recipient_id, shared)


def notification_due_at_once(unscheduled: NotificationDraft, *, now_ms: int = 5) -> ScheduledNotification:
    """Return the notification of a draft whose alerts neither wait nor gather."""
    (scheduled,) = scheduled_notifications([unscheduled], {}, now_ms=now_ms)
    return scheduled


def match_results(notifications: Sequence[ScheduledNotification]) -> list[MatchResult]:
    """Return the results of the matches that these are all notifications of."""
    counted = [notification.offset_and_alerts for notification in notifications]
    counts = MatchCounts((offset, alert) for offset, alerts in counted for alert in alerts)
    counts.add(counted)
    return counts.results(now_ms=1)
