"""Change events in the answers of alerts and inboxes, whatever record they are a part of; entries of inboxes.

Next: ``server/routes/notifications/inbox.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tocsin.conditions.breaking import reasons_of_event
from tocsin.delivery.dispatch import Advice, FailingRows, FailureContext, FailureIncident
from tocsin.delivery.lines import UTC, advice_in
from tocsin.delivery.wording.assets import refused_asset
from tocsin.delivery.wording.change_requests import objection_line
from tocsin.delivery.wording.changes import EventText, event_text
from tocsin.delivery.wording.meanings import semantic_changes
from tocsin.delivery.wording.reasons import reason_context
from tocsin.delivery.wording.surroundings import with_failure_advice
from tocsin.model.change import ANNOUNCEMENTS, BREAKING_REASONS, ChangeEvent, EventType
from tocsin.model.change_request import NOT_ASKED, AskedFor
from tocsin.model.entity import Document
from tocsin.model.inbox import EntryState, Snooze, SnoozeEnd, TabCounts
from tocsin.model.notification import Reason, ReasonKind, inbox_group_id
from tocsin.model.severity import Severity
from tocsin.model.thread import THREAD
from tocsin.server.access.events import EventView
from tocsin.server.alerts.inbox_details import (
    FAILING_ROWS,
    FAILURE,
    INCIDENT,
    NO_DETAILS,
    RUNBOOKS,
    SEVERITY,
    EntryDetails,
)
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import (
    COUNT,
    ENTITY_TYPE,
    FLAG,
    ID,
    OPEN,
    TEXT,
    TIME,
    array,
    either,
    exact_object,
    nullable,
    ref,
)
from tocsin.store.outbox.inbox import InboxEntry

T = TypeVar("T", bound=EventView)


@dataclass(frozen=True)
class Worded(Generic[T]):
    """An entry about an event, with what happened in words."""

    entry: T
    text: EventText

    @property
    def event(self) -> ChangeEvent:
        """Return the event."""
        return self.entry.event


def word_entry(entry: T, zone: str = UTC, reader_id: str | None = None) -> Worded[T]:
    """Return an entry with its event in words, with times in an IANA zone, to a person if they are known."""
    return Worded(entry, event_text(entry.event, zone=zone, reader_id=reader_id))


_KEYS: Shape[EventView] = {
    "id": (TEXT, lambda entry: entry.event.id),
    "eventId": (TEXT, lambda entry: entry.event.id),
    "semanticChanges": (array(ref("SemanticChange")), lambda entry: semantic_changes(entry.event)),
    "breaking": (FLAG, lambda entry: bool(reasons_of_event(entry.event))),
    BREAKING_REASONS: (
        array(ref("BreakingReason")),
        lambda entry: [reason.as_json() for reason in reasons_of_event(entry.event)],
    ),
    f"{ANNOUNCEMENTS}?": (
        array(ref("Announcement")),
        lambda entry: (
            [one.as_json() for one in announced] if (announced := entry.event.announcements) is not None else None
        ),
    ),
    "eventType": (either(*EventType), lambda entry: entry.event.event_type.value),
    "entityType": (ENTITY_TYPE, lambda entry: entry.event.entity_type),
    "entityId": (TEXT, lambda entry: entry.event.entity_id),
    "entityFullyQualifiedName": (nullable(TEXT), lambda entry: entry.event.entity_fully_qualified_name),
    "userName": (nullable(TEXT), lambda entry: entry.event.user_name),
    "timestamp": (TIME, lambda entry: entry.event.timestamp),
}


BREAKING_KEYS = ("breaking", BREAKING_REASONS, f"{ANNOUNCEMENTS}?")
"""The keys that say whether, and why, an event breaks who reads its asset, and what was announced of it."""


def event_shape(*keys: str) -> Shape[EventView]:
    """Return these keys of an event, in this order."""
    return {key: _KEYS[key] for key in keys}


TITLE: Shape[Worded[Any]] = {"title": (TEXT, lambda worded: worded.text.headline)}  # Any: of whatever entry
CHANGES: Shape[Worded[Any]] = {"changes": (array(TEXT), lambda worded: [line.sentence for line in worded.text.lines])}


def _subject_of(entry: EventView) -> object:
    """Return the asset that a thread, or a refused access, is about; None of other events."""
    event = entry.event
    if (refused := refused_asset(event)) is not None:
        return refused
    return event.entity["entityRef"] if event.entity and event.entity_type == THREAD else None


def _count_of(entry: InboxEntry) -> int | None:
    return entry.notification_count if entry.notification_count > 1 else None


def _title_of(worded: Worded[InboxEntry]) -> str:
    """Return the headline; of the lead of a group, with how many others it stands for."""
    others_count = worded.entry.notification_count - 1
    count_text = f", and {others_count:,} more of the same change" if others_count else ""
    return f"{worded.text.headline}{count_text}"


_RUNBOOK: Shape[Advice] = {
    "runbook": (TEXT, lambda advice: advice.runbook),
    "alert?": (TEXT, lambda advice: advice.alert or None),
}
_FAILING_ROWS: Shape[FailingRows] = {
    "isWithheld": (FLAG, lambda failing: failing.are_withheld),
    "columns": (array(TEXT), lambda failing: failing.columns),
    "rows": (array(array(TEXT)), lambda failing: failing.cells),
    "rowCount": (COUNT, lambda failing: failing.row_count),
    "columnCount": (COUNT, lambda failing: failing.column_count),
}

_FAILURE: Shape[FailureContext] = {
    "since": (TIME, lambda failure: failure.since_ms),
    "count": (COUNT, lambda failure: failure.count),
    "lastSuccess?": (TIME, lambda failure: failure.last_success_ms),
    "until?": (TIME, lambda failure: failure.ended_ms),
    "usualDuration?": (COUNT, lambda failure: failure.usual_ms),
}
_INCIDENT: Shape[FailureIncident] = {
    "name": (TEXT, lambda incident: incident.name),
    "acknowledgedBy?": (TEXT, lambda incident: incident.acknowledged_by),
    "acknowledgedByDisplayName?": (TEXT, lambda incident: incident.acknowledger),
}


SNOOZED_UNTIL: Document = {"anyOf": [TIME, either(*SnoozeEnd)]}


@dataclass(frozen=True)
class ListedEntry(Worded[InboxEntry]):
    """An entry of an inbox in words, with the details that were asked for, and what a change request asks for."""

    details: EntryDetails = NO_DETAILS
    answerable: AskedFor = NOT_ASKED


STATE: Shape[EntryState] = {
    "read": (FLAG, lambda state: state.is_read),
    "seen": (FLAG, lambda state: state.is_seen),
    "done": (FLAG, lambda state: state.is_done),
    "saved": (FLAG, lambda state: state.is_saved),
    "snoozedUntil?": (SNOOZED_UNTIL, lambda state: None if state.snooze is None else _until(state.snooze)),
}
"""The state of a notification; ``snoozedUntil`` is a time, or what it waits for."""

TAB_COUNTS: Shape[TabCounts] = {
    "unread": (COUNT, lambda counts: counts.unread_count),
    "unseen": (COUNT, lambda counts: counts.unseen_count),
    "total": (COUNT, lambda counts: counts.total_count),
    "saved": (COUNT, lambda counts: counts.saved_count),
    "snoozed": (COUNT, lambda counts: counts.snoozed_count),
    "done": (COUNT, lambda counts: counts.done_count),
}


def _until(snooze: Snooze) -> int | str:
    return snooze.until_ms if snooze.end is None else snooze.end.value


def state_json(state: EntryState) -> Document:
    """Return the state of a notification."""
    return json_of(STATE, state)


def counts_json(counts: TabCounts) -> Document:
    """Return the counts of the tabs of an inbox."""
    return json_of(TAB_COUNTS, counts)


INBOX_ENTRY: Shape[ListedEntry] = {
    "about?": (OPEN, _subject_of),
    "id": (TEXT, lambda worded: worded.entry.id),
    "group": (TEXT, lambda worded: inbox_group_id(worded.entry.recipient_id, worded.entry.group)),
    **event_shape("eventId", "eventType", "entityType", "entityId", "entityFullyQualifiedName"),
    "title": (TEXT, _title_of),
    **CHANGES,
    "advice?": (TEXT, lambda worded: advice_in(worded.text.lines)),
    "notificationCount?": (COUNT, lambda worded: _count_of(worded.entry)),
    **event_shape("semanticChanges", *BREAKING_KEYS),
    "reasons": (
        array(ref("Reason")),
        lambda worded: [reason_json(one, worded.event, worded.answerable) for one in worded.entry.reasons],
    ),
    **event_shape("userName", "timestamp"),
    "read": (FLAG, lambda worded: worded.entry.read),
    "state": (schema_of(STATE), lambda worded: state_json(worded.entry.state)),
    f"{SEVERITY}?": (either(*Severity), lambda worded: worded.details.severity),
    f"{RUNBOOKS}?": (
        array(schema_of(_RUNBOOK)),
        lambda worded: [json_of(_RUNBOOK, one) for one in worded.details.runbooks] or None,
    ),
    f"{FAILING_ROWS}?": (
        schema_of(_FAILING_ROWS),
        lambda worded: json_of(_FAILING_ROWS, rows) if (rows := worded.details.failing_rows) else None,
    ),
    f"{FAILURE}?": (
        schema_of(_FAILURE),
        lambda worded: json_of(_FAILURE, failure) if (failure := worded.details.failure) else None,
    ),
    f"{INCIDENT}?": (
        schema_of(_INCIDENT),
        lambda worded: json_of(_INCIDENT, incident) if (incident := worded.details.incident) else None,
    ),
}
"""An entry of an inbox: what happened, in words, and why this person is notified.

``notificationCount`` says how many notifications an entry stands for, where that is more than itself. ``group`` stays
the same for all of them, whichever leads. The last five keys are those that ``fields`` asks for.
"""


REASON = exact_object(
    {
        "kind": either(*ReasonKind),
        "subscriptionId": TEXT,
        "subscriptionName": TEXT,
        "destinationId": TEXT,
        "hops": COUNT,
        "sentence": {"type": "string", "description": "The reason as a person would say it."},
    },
    {
        "team": TEXT,
        "via": TEXT,
        "heldBy": TEXT,
        "downstreamOf": TEXT,
        "search": {**TEXT, "description": "The saved search that the asset matches."},
        "isInherited": FLAG,
        "ofSubject": FLAG,
        "met": TEXT,
        "through": exact_object({"type": ENTITY_TYPE}, {"id": ID, "fullyQualifiedName": TEXT, "relation": TEXT}),
        "states": array(TEXT),
    },
)
"""One reason for a notification."""


def reason_json(reason: Reason, event: ChangeEvent, answerable: AskedFor = NOT_ASKED) -> Document:
    """Return a reason for a notification of an event, also as its reader, who is ``answerable``, would say it."""
    return {**reason.to_wire(), "sentence": reason.sentence(context=reason_context(event, answerable))}


def entry_json(
    entry: InboxEntry,
    event: ChangeEvent,
    *,
    zone: str = UTC,
    details: EntryDetails = NO_DETAILS,
    answerable: AskedFor = NOT_ASKED,
) -> Document:
    """Return an entry of an inbox to its owner, with times in an IANA ``zone``.

    ``event`` is its event with display names, which its words have; all other keys are as stored.
    """
    text = event_text(event, entry.reasons, zone=zone, reader_id=entry.recipient_id)
    if details.advice is not None:
        text = text._replace(lines=list(with_failure_advice(text.lines, details.advice)))
    if answerable.objection:
        text = text._replace(lines=[objection_line(answerable.objection), *text.lines])
    return json_of(INBOX_ENTRY, ListedEntry(entry, text, details, answerable))
