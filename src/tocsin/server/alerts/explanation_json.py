"""JSON representation of explanations, for API clients and ``tocsin explain``.

Next: ``server/routes/notifications/explain.py``.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import NamedTuple

import orjson

from tocsin.access.person_visibility import Visibility
from tocsin.alerts.explanations.answer import AlertTrace, explained_context
from tocsin.alerts.explanations.digests import digest_of
from tocsin.alerts.explanations.matching import RuleTrace
from tocsin.alerts.explanations.people import PossibleRecipient, RecipientPath
from tocsin.alerts.explanations.reader import ExplanationReader, to_recipient
from tocsin.conditions.trace import Seen, Trace
from tocsin.delivery.lines import cut
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.reasons import RECEIVERS
from tocsin.delivery.wording.reports import is_report
from tocsin.flow.schedule.messages import without_asset
from tocsin.model.change import LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.message import DroppedReason, MessageStatus
from tocsin.model.mute import Mute
from tocsin.model.notification import Reason, ReasonContext
from tocsin.model.notification_record import AttemptRecord, MessageRecord, NotificationRecord
from tocsin.model.own_address import shown_target
from tocsin.model.preferences import FrequencyChoice, Layer
from tocsin.server.alerts.destination_names import names_of
from tocsin.server.alerts.event_shape import BREAKING_KEYS, CHANGES, TITLE, Worded, event_shape
from tocsin.server.alerts.explanations import PagedExplanation
from tocsin.server.http.answer_shapes import Shape, json_of
from tocsin.server.http.json_schema import COUNT, FLAG, OPEN, TEXT, TIME, array, exact_object, nullable, ref

MOST_PEOPLE = 50
"""The most people shown per alert, and notifications in all."""

_MOST_VALUES = 20
_RECIPIENT = "the recipient"
_LONGEST_VALUE = 200
_OPEN = tuple(
    status.value
    for status in (
        MessageStatus.PENDING,
        MessageStatus.AWAITING_RETRY,
        MessageStatus.AWAITING_REPLAY,
        MessageStatus.QUEUED,
    )
)
_DEAD = (MessageStatus.FAILED.value, MessageStatus.RETRY_LIMIT_REACHED.value)


def on_wire(findings: PagedExplanation, *, visibility: Visibility, now_ms: int, shows_answers: bool) -> Document:
    """Return the whole explanation, the answer first, without names that ``visibility`` does not reach.

    ``shows_answers``: includes the receivers' responses.
    """
    visible_findings = _in_sight(findings, visibility)
    explanation = visible_findings.explanation
    person, reader = explanation.person, explanation.reader
    wording = _Wording(explained_context(explanation.logged.event, reader), reader)
    return {
        "answer": explanation.answer(),
        "asOf": now_ms,
        "event": _event(visible_findings, reader),
        "user": None if person is None else {"id": person.id, "name": person.name, "displayName": person.display_name},
        "pipeline": {
            "offset": explanation.pipeline_at,
            "hasReached": not explanation.is_in_flight,
            "isRunning": explanation.is_pipeline_running,
        },
        "alerts": [_alert(trace, wording) for trace in visible_findings.page],
        "otherAlerts": {"matched": explanation.others_matched},
        "notified": {
            "total": explanation.notified_count,
            "isWhole": not explanation.is_narrowed,
            "data": [
                _record(record, wording, shows_answers=shows_answers)
                | {"destinations": names_of(record, visible_findings.names)}
                for record in explanation.notified[:MOST_PEOPLE]
            ],
        },
        "disagreements": [asdict(one) for one in explanation.disagreements()[:MOST_PEOPLE]],
    }


def _event(findings: PagedExplanation, reader: ExplanationReader) -> Document:
    """Return the event as it is stored, in words that call people by their display names.

    So is its author, unless it is a report: nobody changes what is reported.
    """
    author = None if is_report(findings.named_event) else findings.named_event.user_name
    text = event_text(findings.named_event, zone=reader.zone, reader_id=reader.user_id)
    return json_of(EVENT, Worded(findings.visible, text)) | {"userDisplayName": author}


class _Wording(NamedTuple):
    """What sentences say of the event, and to whom."""

    context: ReasonContext
    reader: ExplanationReader

    def sentence(self, reason: Reason, user_id: str | None, name: str, channel: str) -> str:
        """Return a reason for the reader: about themselves, or about the user of that id and name, or an address."""
        about = None if self.reader.is_of(user_id) else name
        return reason.sentence(about, context=self.context, receiver=RECEIVERS.get(channel, "address"))


def _in_sight(findings: PagedExplanation, visibility: Visibility) -> PagedExplanation:
    """Return findings whose reasons name no asset downstream that may not be seen."""
    if visibility.is_whole:
        return findings
    explanation = findings.explanation
    notified = tuple(record_in_sight(one, visibility) for one in explanation.notified)
    alerts = tuple(_trace_in_sight(one, visibility) for one in explanation.alerts)
    page = tuple(_trace_in_sight(one, visibility) for one in findings.page)
    return replace(findings, explanation=replace(explanation, notified=notified, alerts=alerts), page=page)


def record_in_sight(record: NotificationRecord, visibility: Visibility) -> NotificationRecord:
    """Return a stored notification without the names, and the root it is grouped under, that may not be seen."""
    reasons = visibility.reasons(record.notification.reasons)
    message = record.message
    if message is not None and message.grouping_key is not None and any(one.downstream_of == "" for one in reasons):
        message = replace(message, grouping_key=without_asset(message.grouping_key))  # its asset is the hidden root
    return replace(record, notification=replace(record.notification, reasons=reasons), message=message)


def _trace_in_sight(trace: AlertTrace, visibility: Visibility) -> AlertTrace:
    reached = (
        replace(
            recipient, ways=tuple(replace(way, reason=visibility.reasons([way.reason])[0]) for way in recipient.ways)
        )
        for recipient in trace.reached
    )
    return replace(trace, reached=tuple(reached))


# what who made the change is called is read beside it
EVENT: Shape[Worded[LoggedEvent]] = {
    **event_shape("id"),
    "offset": (COUNT, lambda worded: worded.entry.offset),
    **TITLE,
    **CHANGES,
    **event_shape("semanticChanges", *BREAKING_KEYS, "eventType", "entityType", "entityId"),
    **event_shape("entityFullyQualifiedName", "userName", "timestamp"),
    "userDisplayName": (nullable(TEXT), lambda _: None),
}
ALERT: Shape[AlertTrace] = {
    "id": (TEXT, lambda trace: trace.subscription.id),
    "name": (TEXT, lambda trace: trace.subscription.name),
    "displayName": (nullable(TEXT), lambda trace: trace.subscription.display_name),
    "matched": (FLAG, lambda trace: trace.match.matched),
    "gates": (array(exact_object({"name": TEXT, "holds": FLAG, "says": TEXT})), lambda trace: trace.match.gates),
    "rules": (array(OPEN), lambda trace: [_rule(rule) for rule in trace.match.rules]),
    "obstacles": (array(TEXT), lambda trace: trace.match.obstacles()),
    "destinations": (
        array(TEXT),
        lambda trace: [one.label for one in trace.subscription.destinations],
    ),
}
"""An alert that is explained, but for whom it reached."""


def _alert(trace: AlertTrace, wording: _Wording) -> Document:
    reached = [
        _recipient(recipient, wording) | {"destinations": trace.destination_names(way.reason for way in recipient.ways)}
        for recipient in trace.reached[:MOST_PEOPLE]
    ]
    return json_of(ALERT, trace) | {"reached": {"total": len(trace.reached), "data": reached}}


def _rule(rule: RuleTrace) -> Document:
    return {
        "part": rule.part,
        "number": rule.number,
        "name": rule.rule.name,
        "effect": rule.rule.effect.value,
        "prefixCondition": rule.rule.prefix_condition.value,
        "condition": rule.rule.condition,
        "holds": rule.holds,
        "says": rule.says(),
        "trace": None if rule.trace is None else _trace(rule.trace),
    }


def _trace(trace: Trace) -> Document:
    document: Document = {"text": trace.text, "line": trace.at.line, "column": trace.at.column, "holds": trace.holds}
    if trace.joined is not None:
        return {**document, "joined": trace.joined, "parts": [_trace(part) for part in trace.parts]}
    return {**document, "seen": [_seen_value(one) for one in trace.observations]}


def _seen_value(field: Seen) -> Document:
    first_values = [_short(value) for value in field.values[:_MOST_VALUES]]
    document: Document = {"name": field.name, "isMissing": not field.values, "isInherited": field.is_inherited}
    return document | {"values": first_values, "total": len(field.values)}


def _short(value: object) -> object:
    if isinstance(value, str):
        return cut(value, limit=_LONGEST_VALUE)
    return value if isinstance(value, bool | int | float) else cut(orjson.dumps(value).decode(), limit=_LONGEST_VALUE)


def _recipient(recipient: PossibleRecipient, wording: _Wording) -> Document:
    return {
        "id": recipient.person.id if recipient.person else None,
        "name": recipient.name,
        "displayName": recipient.person.display_name if recipient.person else None,
        "channel": recipient.channel,
        "ownAddress": recipient.address or None,
        "isDue": recipient.is_due,
        "ways": [_way(way, recipient, wording) for way in recipient.ways],
        "notification": recipient.record.notification.id if recipient.record else None,
        "mergedWith": list(recipient.merged_alerts),
    }


def _way(way: RecipientPath, recipient: PossibleRecipient, wording: _Wording) -> Document:
    obstacle, person = way.obstacle, recipient.person
    stopped = None if obstacle is None else {"kind": obstacle.kind, "says": obstacle.says}
    sentence = wording.sentence(way.reason, person.id if person else None, recipient.shown_name, recipient.channel)
    return {"reason": _reason(way.reason, sentence, wording.context), "stoppedBy": stopped, "hasEnded": way.has_ended}


def _reason(reason: Reason, sentence: str, context: ReasonContext) -> Document:
    return {**reason.to_wire(), "isInherited": context.is_inherited and reason.is_of_owner, "sentence": sentence}


def _choice_json(choice: FrequencyChoice) -> Document | None:
    """Return how often its recipient preferred it when it was written, of which kind, and who chose that."""
    if choice.layer is Layer.NOBODY:
        return None
    if choice.layer is Layer.MUTE:
        return {"kind": Mute.from_text(choice.kind).subject, "frequency": choice.frequency.value, "from": "mute"}
    role = {"role": choice.role} if choice.role else {}
    return {"kind": choice.kind or None, "frequency": choice.frequency.value, "from": choice.layer.value} | role


NOTIFIED: Shape[NotificationRecord] = {
    "id": (TEXT, lambda record: record.notification.id),
    "channel": (TEXT, lambda record: record.notification.channel),
    "recipient": (TEXT, lambda record: record.notification.address),
    "recipientId": (nullable(TEXT), lambda record: record.notification.recipient_id),
    "recipientName": (nullable(TEXT), lambda record: record.user_name),
    "recipientDisplayName": (nullable(TEXT), lambda record: record.display_name),
    "reasons": (array(ref("Reason")), lambda record: record.notification.reasons),
    "dueAt": (nullable(TIME), lambda record: None if record.is_off else record.notification.due_at_ms),
    "preference": (nullable(OPEN), lambda record: _choice_json(record.choice)),
    "createdAt": (TIME, lambda record: record.notification.created_at_ms),
    "isRead": (FLAG, lambda record: record.read_at_ms is not None),
    "readAt": (nullable(TIME), lambda record: record.read_at_ms),
    "message": (nullable(OPEN), lambda record: record.message),
    "digest": (
        nullable(exact_object({"frequency": TEXT, "dueAt": TIME, "sentAt": nullable(TIME), "says": TEXT})),
        lambda _: None,
    ),
    "destinations": (array(TEXT), lambda _: ()),
}
"""A stored notification, whose reasons, message and digest are told in full; ``destinations`` are those's names."""


def _record(record: NotificationRecord, wording: _Wording, *, shows_answers: bool) -> Document:
    notification, name = record.notification, record.shown_name or _RECIPIENT
    reasons = [
        _reason(
            reason,
            wording.sentence(reason, notification.recipient_id, name, notification.channel),
            wording.context,
        )
        for reason in notification.reasons
    ]
    is_of_reader = wording.reader.is_of(notification.recipient_id)
    message = None if record.message is None else _message(record.message, shows_answers, is_of_reader=is_of_reader)
    return json_of(NOTIFIED, record) | {
        "reasons": reasons,
        "message": message,
        "digest": _digest_json(record, wording.reader),
    }


def _digest_json(record: NotificationRecord, reader: ExplanationReader) -> Document | None:
    digest = digest_of(record)
    if digest is None:
        return None
    times = {"dueAt": digest.due_at_ms, "sentAt": digest.sent_at_ms}
    return {"frequency": digest.frequency, **times, "says": digest.says(reader)}


def _dropped_reason(dropped: DroppedReason, *, is_of_reader: bool) -> Document:
    sentence = dropped.reason.sentence(None if is_of_reader else _RECIPIENT)
    return {
        "notification": dropped.notification_id,
        "reason": _reason(dropped.reason, sentence, ReasonContext()),
        "because": dropped.because.value,
        "says": to_recipient(dropped.says) if is_of_reader else dropped.says,
    }


def _message(message: MessageRecord, shows_answers: bool, *, is_of_reader: bool) -> Document:
    is_open = message.status in _OPEN
    is_held = is_open and message.held_since_ms is not None
    return {
        "id": message.id,
        "target": shown_target(message.target),
        "groupingKey": message.grouping_key,
        "notificationCount": message.notification_count,
        "status": message.status,
        "attemptCount": message.attempt_count,
        "nextAttempt": message.due_at_ms if is_open and not is_held else None,
        "held": ("stopped" if message.is_stopped else "paused") if is_held else None,
        "heldSince": message.held_since_ms if is_held else None,
        "isDeadLetter": message.status in _DEAD,
        "attempts": [
            attempt_json(attempt, shows_answers=shows_answers, is_of_reader=is_of_reader)
            for attempt in message.attempts
        ],
    }


_ATTEMPT: Shape[AttemptRecord] = {
    "number": (COUNT, lambda attempt: attempt.number),
    "startedAt": (TIME, lambda attempt: attempt.started_at_ms),
    "durationMs": (COUNT, lambda attempt: attempt.duration_ms),
    "outcome": (TEXT, lambda attempt: attempt.outcome),
    "reason": (TEXT, lambda attempt: attempt.reason),
    "statusCode": (nullable(COUNT), lambda attempt: attempt.status_code),
    "dropped": (array(OPEN), lambda attempt: attempt.dropped),
    "templateError?": (TEXT, lambda attempt: attempt.template_error or None),
}
ATTEMPT: Shape[AttemptRecord] = {
    **_ATTEMPT,
    "detail?": (
        {"type": "string", "description": "The receiver's answer, for administrators."},
        lambda attempt: attempt.detail,
    ),
}


def attempt_json(attempt: AttemptRecord, *, shows_answers: bool, is_of_reader: bool = False) -> Document:
    """Return one attempt; ``shows_answers``: with what the receiver answered; ``is_of_reader``: the reader is told."""
    dropped = [_dropped_reason(one, is_of_reader=is_of_reader) for one in attempt.dropped]
    return json_of(ATTEMPT if shows_answers else _ATTEMPT, attempt) | {"dropped": dropped}
