"""Progress of an alert through the log, in the shapes of OpenMetadata: how far it is, and what became of its events.

Source: OpenMetadata 1.13 ``events/api/eventSubscriptionDiagnosticInfo.json``, ``eventsRecord.json``,
``typedEvent.json``, ``events/failedEventResponse.json``. Next: ``store/outbox/deliveries.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from tocsin.delivery.wording.event_formats import as_upstream
from tocsin.errors import NotFound
from tocsin.flow.eventlog.readers import MATCH_STREAM, STREAK_STREAM
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.resolve.withholding import withheld
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.message import MessageStatus
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel, EventSubscription
from tocsin.server.access.events import visible_parts
from tocsin.server.access.permissions import visible_document
from tocsin.server.alert_stores import with_streaks
from tocsin.server.alerts.event_shape import Worded, event_shape
from tocsin.server.http.answer_shapes import Shape
from tocsin.server.http.json_schema import COUNT, TEXT, either, nullable
from tocsin.server.request import Caller
from tocsin.store.outbox.deliveries import EventCounts, FailedEvent, LogEntry

MOST_UNREAD = 1_000
"""Events that the pipeline has not reached yet and that are looked at."""

MOST_COUNTED = 1_000
"""Events that an alert matched, the newest ones, that are counted for who may not view everything."""

_AT_ONCE = 200
_MOST_SKIPPED = 20_000

TO_SUBSCRIBER = "SUBSCRIBER"
"""Upstream's word for a failure on the way to a destination; all of ours are such."""

ROW = ENTITY_TYPES["eventsubscription"]

T = TypeVar("T")


@dataclass(frozen=True)
class PageAsked:
    """A page: so many of a list, after so many."""

    limit: int
    skip: int

    def part_of(self, events: Sequence[LoggedEvent]) -> list[LoggedEvent]:
        """Return the page of these."""
        return list(islice(events, self.skip, self.skip + self.limit))


@dataclass(frozen=True)
class Unread:
    """What the pipeline has not reached: how many events, those that were looked at, and those the alert matches."""

    current: int
    latest: int
    looked_at: list[LoggedEvent]
    relevant: list[LoggedEvent]


def alert_at(key: Key, caller: Caller) -> EventSubscription:
    """Return an alert that the caller may view.

    Raises
    ------
    NotFound : there is none
    """
    alert = caller.parts.subscriptions.find(visible_document(ROW, key, caller)["id"])
    if alert is None:
        raise NotFound(f"alert {key} not found")
    return alert


def progress_of(alert: EventSubscription, caller: Caller) -> tuple[int, int]:
    """Return up to which offset an alert's events are processed, and the last offset of the log.

    The query that reads only reports has passed everything before the next report.
    """
    log = caller.parts.log
    at_reports = None if log.reported_at_ms(STREAK_STREAM) is None else log.progress(STREAK_STREAM)
    end = log.readable_end()
    through = min(log.progress(MATCH_STREAM), end)
    if at_reports is None:
        return through, end
    coming = caller.parts.alert_stores.reports.first_between(at_reports, through)
    return through if coming is None else coming - 1, end


def unread(alert: EventSubscription, caller: Caller) -> Unread:
    """Return what is to be processed yet, at most ``MOST_UNREAD`` events of it."""
    current, latest = progress_of(alert, caller)
    events = [one for one in caller.parts.log.read(current, MOST_UNREAD) if one.offset <= latest]
    (by_names_then,) = caller.parts.subscriptions.with_past_names([alert], after=current)
    plan, stores = plan_of(by_names_then), caller.parts.alert_stores
    covered = [one for one in events if alert.enabled and one.offset >= alert.since_offset]
    visible = [one for one in covered if caller.visibility.is_whole or caller.visibility.sees_event(one.event)]
    matched = [one for one in visible if matches(plan, with_streaks(one, stores))]
    return Unread(current, latest, events, [one for one in matched if not withheld_for(alert, one.offset, caller)])


def withheld_for(alert: EventSubscription, log_offset: int, caller: Caller) -> str | None:
    """Return the editor because of whom the alert does not match this event, as rights are now; None if nobody is."""
    if alert.is_of_tocsin:
        return None
    editors = withheld(
        {log_offset: [alert.id]}, {alert.id: plan_of(alert).reads}, caller.policies, caller.parts.alert_stores.events
    )
    return editors.get((log_offset, alert.id))


def record_json(alert: EventSubscription, caller: Caller) -> Document:
    """Return upstream's ``eventsRecord``: pending are events that wait, and unread ones that the alert matches."""
    counts = _counts(alert, caller)
    pending = counts.waiting + len(unread(alert, caller).relevant)
    successful = max(0, counts.matched - counts.failed - counts.waiting)
    return {
        "totalEventsCount": pending + successful + counts.failed,
        "pendingEventsCount": pending,
        "successfulEventsCount": successful,
        "failedEventsCount": counts.failed,
    }


def diagnosis_json(alert: EventSubscription, page: PageAsked, caller: Caller, *, counts_only: bool) -> Document:
    """Return upstream's ``eventSubscriptionDiagnosticInfo``; with lists of unread events unless ``counts_only``."""
    ahead, counts = unread(alert, caller), _counts(alert, caller)
    document: Document = {
        "latestOffset": ahead.latest,
        "currentOffset": ahead.current,
        "startingOffset": alert.since_offset,
        "hasProcessedAllEvents": ahead.current >= ahead.latest,
        "successfulEventsCount": max(0, counts.matched - counts.failed - counts.waiting),
        "failedEventsCount": counts.failed,
        "relevantUnprocessedEventsCount": len(ahead.relevant),
        "totalUnprocessedEventsCount": max(len(ahead.looked_at), ahead.latest - ahead.current),
    }
    if counts_only:
        return document
    return {
        **document,
        "relevantUnprocessedEventsList": _events(page.part_of(ahead.relevant), caller),
        "totalUnprocessedEventsList": _events(page.part_of(ahead.looked_at), caller),
    }


def failed_json(failed: Sequence[FailedEvent], caller: Caller) -> list[Document]:
    """Return upstream's ``failedEventResponse`` of each failure whose event the caller may view."""
    events = caller.visibility.visible_events([failure.event for failure in failed])
    return [
        {
            "failingSubscriptionId": failure.subscription_id,
            "changeEvent": as_upstream(event.as_wire(), caller.root),
            "reason": failure.reason if failure.status_code is None else f"{failure.reason} ({failure.status_code})",
            "source": TO_SUBSCRIBER,
            "timestamp": failure.updated_at_ms,
        }
        for failure, event in zip(failed, events, strict=True)
        if event is not None
    ]


def sent_json(sent: Sequence[ChangeEvent], caller: Caller) -> list[Document]:
    """Return events in upstream's shape, those that the caller may view."""
    return [
        as_upstream(event.as_wire(), caller.root)
        for event in caller.visibility.visible_events(sent)
        if event is not None
    ]


def typed_json(status: str, events: Sequence[Document]) -> list[Document]:
    """Return upstream's ``typedEvent`` of each event."""
    return [{"status": status, "data": [one], "timestamp": one["timestamp"]} for one in events]


LOG_ENTRY: Shape[Worded[LogEntry]] = {
    **event_shape("timestamp"),
    "offset": (COUNT, lambda worded: worded.entry.place.log_offset),
    **event_shape("eventId", "eventType", "entityType", "entityFullyQualifiedName"),
    "title": (TEXT, lambda worded: worded.text.headline),
    "channel": (either(*Channel), lambda worded: worded.entry.channel),
    "recipient": (TEXT, lambda worded: worded.entry.recipient),
    "destinationId": (nullable(TEXT), lambda worded: worded.entry.destination_id),
    "messageId": (nullable(TEXT), lambda worded: worded.entry.message_id),
    "status": (either(*MessageStatus), lambda worded: worded.entry.status or "delivered"),
    "attemptCount": (nullable(COUNT), lambda worded: worded.entry.attempt_count),
    "lastAttemptAt": (nullable(COUNT), lambda worded: worded.entry.attempted_at_ms),
    "reason": (nullable(TEXT), lambda worded: worded.entry.reason),
    "statusCode": (nullable(COUNT), lambda worded: worded.entry.status_code),
}
"""One line of an alert's log."""


def shown_page(
    read: Callable[[PageAsked], Sequence[T]],
    render: Callable[[Sequence[T]], list[Document]],
    page: PageAsked,
    caller: Caller,
) -> list[Document]:
    """Return a page of what the caller may view: what is hidden takes no place in it."""
    if caller.visibility.is_whole:
        return render(read(page))
    documents: list[Document] = []
    skipped, end = 0, page.skip + page.limit
    while len(documents) < end and skipped < _MOST_SKIPPED:
        portion = read(PageAsked(_AT_ONCE, skipped))
        documents += render(portion)
        skipped += len(portion)
        if len(portion) < _AT_ONCE:
            break
    return documents[page.skip : end]


def _counts(alert: EventSubscription, caller: Caller) -> EventCounts:
    """Return what became of an alert's events: of all, or of the newest ones that the caller may view."""
    deliveries, destinations = caller.parts.alert_stores.deliveries, [one.id for one in alert.destinations]
    if caller.visibility.is_whole:
        return deliveries.counts(alert.id, destinations)
    events = caller.parts.log.at(deliveries.matched_offsets(alert.id, limit=MOST_COUNTED))
    visible = [offset for offset, one in events.items() if caller.visibility.sees_event(one.event)]
    return deliveries.counts(alert.id, destinations, among=visible)


def _events(logged: Sequence[LoggedEvent], caller: Caller) -> list[Document]:
    shown_events = [one for one in visible_parts(caller.visibility, logged) if one is not None]
    return [as_upstream(shown.event.as_wire(), caller.root) for shown in shown_events]
