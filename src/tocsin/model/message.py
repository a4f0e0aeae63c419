"""Messages: what goes out to one recipient at one time, its states and attempts, and the reasons of outcomes.

Next: ``delivery/dispatch.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

import orjson

from tocsin.model.alert_incident import OpenIncident
from tocsin.model.change import BELOW_COUNT, BREAKING_REASONS, REASON, ChangeEvent, EventType
from tocsin.model.entity import Document, WireModel
from tocsin.model.notification import Reason
from tocsin.model.own_address import is_of_holder
from tocsin.model.runbook import RUNBOOK

T = TypeVar("T")


class MessageStatus(StrEnum):
    """Status of a message. All but the first four are final; ``queued`` waits for a consumer."""

    PENDING = "pending"
    AWAITING_RETRY = "awaitingRetry"
    AWAITING_REPLAY = "awaitingReplay"
    QUEUED = "queued"
    DELIVERED = "delivered"
    FAILED = "failed"
    RETRY_LIMIT_REACHED = "retryLimitReached"


class OutcomeReason(StrEnum):
    """Why an attempt ended as it did; the same words in status, metrics, logs and API."""

    OK = "ok"
    BAD_URL = "badUrl"
    BAD_ADDRESS = "badAddress"
    EGRESS_REFUSED = "egressRefused"
    CONNECTION_FAILED = "connectionFailed"
    TIMEOUT = "timeout"
    INFORMATIONAL = "informational"
    REDIRECT = "redirect"
    RATE_LIMITED = "rateLimited"
    GONE = "gone"
    NOT_VERIFIED = "notVerified"
    CLIENT_ERROR = "clientError"
    SERVER_ERROR = "serverError"
    MAIL_REFUSED = "mailRefused"
    MAIL_DEFERRED = "mailDeferred"
    DISABLED = "disabled"
    RECIPIENT_GONE = "recipientGone"
    RECIPIENT_UNKNOWN = "recipientUnknown"
    MAY_NOT_VIEW = "mayNotView"
    MUTED = "muted"
    HANDLED = "handled"
    HELD = "held"
    FORGOTTEN = "forgotten"
    INTERNAL_ERROR = "internalError"


SUPPRESSED = frozenset(
    {OutcomeReason.DISABLED, OutcomeReason.RECIPIENT_GONE, OutcomeReason.MAY_NOT_VIEW, OutcomeReason.MUTED}
    | {OutcomeReason.HANDLED, OutcomeReason.HELD, OutcomeReason.FORGOTTEN}
)
"""Reasons for which nothing is sent on purpose: they say nothing about the destination, and make no dead letter.

What is ``held`` is sent later; that is no attempt, and not recorded as one. A dead letter that a person has
``forgotten`` is none any more; the attempt of that reason says who, and why.
"""


@dataclass(frozen=True)
class Delivered:
    """The receiver took it, and calls it ``remote_id`` if it said so; ``template_error`` as in ``Attempt``."""

    status_code: int | None = None
    detail: str = ""
    remote_id: str | None = None
    template_error: str = ""


@dataclass(frozen=True)
class Retry:
    """It did not go through; try again, no sooner than ``after_s`` seconds when that is given."""

    reason: OutcomeReason
    status_code: int | None = None
    detail: str = ""
    after_s: float | None = None
    template_error: str = ""


@dataclass(frozen=True)
class Rejected:
    """It will never go through as it is."""

    reason: OutcomeReason
    status_code: int | None = None
    detail: str = ""
    template_error: str = ""


Outcome = Delivered | Retry | Rejected


@dataclass(frozen=True)
class Message:
    """One or many notifications that go out together, as a worker claims them: under the destination it names.

    ``target`` is an endpoint URL or an address; ``attempt_count`` counts the attempts already made. While it is
    replayed, ``replay_id`` names the replay; ``attempts_before`` counts the attempts before its last replay.
    """

    id: str
    subscription_id: str
    destination_id: str
    channel: str
    target: str
    attempt_count: int
    due_at_ms: int
    created_at_ms: int
    replay_id: str | None = None
    attempts_before: int = 0

    @cached_property
    def lane(self) -> str:
        """Return what its turn to be sent depends on: its destination or, of an own address or browsers, that alone."""
        return f"{self.channel} {self.target}" if is_of_holder(self.channel, self.target) else self.destination_id


class _Marks(NamedTuple):
    """What an event says by keys that few events have."""

    is_breaking: bool = False
    is_recursive: bool = False
    stated_reason: str | None = None
    own_runbook: str | None = None
    reminds_of: EventType | None = None
    begins_thread: bool = False


REMINDERS = frozenset({EventType.INCIDENT_REMINDER, EventType.CHANGE_REQUEST_REMINDER})
_NO_MARKS = _Marks()
_MARK_WORDS = tuple(
    [f'"{key}":' for key in (BREAKING_REASONS, BELOW_COUNT, REASON, RUNBOOK)]
    + [f'"{one.value}"' for one in (*REMINDERS, EventType.THREAD_CREATED)]
)


class CarriedEvent:
    """An event that messages carry, one object for all of them: its JSON, and a model of it on demand.

    ``payloads`` and ``texts`` hold what senders have made of it, by a key that says all that this depends on beside the
    event: what is the same in many messages is made once.
    """

    def __init__(self, event_id: str, text: str) -> None:
        self.id = event_id
        self._text = text
        self.payloads: dict[tuple[str, ...], tuple[bytes, str | None]] = {}
        self.texts: dict[tuple[object, ...], Any] = {}  # Any: what each key names

    @classmethod
    def of(cls, event: ChangeEvent) -> CarriedEvent:
        """Return the event of a model."""
        carried = cls(event.id, "")
        carried.event = event
        return carried

    @cached_property
    def event(self) -> ChangeEvent:
        """The event as a model."""
        return ChangeEvent.model_validate_json(self._text)

    def remember(self, make: Callable[[ChangeEvent], T]) -> T:
        """Return what a function makes of the event, made once for all messages that carry it."""
        try:
            remembered: T = self.texts[make,]
        except KeyError:
            remembered = self.texts[make,] = make(self.event)
        return remembered

    @cached_property
    def fingerprint(self) -> bytes:
        """The digest of all that the event says; that of another event, or form of it, is another."""
        text = self._text or self.event.model_dump_json()
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    @property
    def is_breaking(self) -> bool:
        """Return whether the event was recorded as one that breaks who reads its asset."""
        return self._marks.is_breaking

    @property
    def is_recursive(self) -> bool:
        """Return whether the event includes all below its entity, for its recipients."""
        return self._marks.is_recursive

    @property
    def stated_reason(self) -> str | None:
        """Return why the change was made, as its author says."""
        return self._marks.stated_reason

    @property
    def own_runbook(self) -> str | None:
        """Return the runbook of the test, test definition or alert that the event is about."""
        return self._marks.own_runbook

    @property
    def reminds_of(self) -> EventType | None:
        """Return the type of the event if it is a reminder: of an incident or of a change request."""
        return self._marks.reminds_of

    @property
    def begins_thread(self) -> bool:
        """Return whether the event is the first of a thread: of a conversation, a task or a notice."""
        return self._marks.begins_thread

    @cached_property
    def _marks(self) -> _Marks:
        """What senders ask of every event; one whose JSON holds no word of these is not parsed for it."""
        if self._text and not any(word in self._text for word in _MARK_WORDS):
            return _NO_MARKS
        wire = self.as_wire()
        runbook, event_type = (wire.get("entity") or {}).get(RUNBOOK), wire["eventType"]
        return _Marks(
            is_breaking=bool(wire.get(BREAKING_REASONS)),
            is_recursive=wire.get(BELOW_COUNT) is not None,
            stated_reason=wire.get(REASON),
            own_runbook=runbook if isinstance(runbook, str) else None,
            reminds_of=EventType(event_type) if event_type in REMINDERS else None,
            begins_thread=event_type == EventType.THREAD_CREATED,
        )

    def as_wire(self) -> Document:
        """Return the event as JSON, as ``ChangeEvent.as_wire`` does."""
        wire: Document = orjson.loads(self._text) if self._text else self.event.as_wire()
        return wire

    def __eq__(self, value: object) -> bool:
        return isinstance(value, CarriedEvent) and self.event == value.event

    __hash__ = None  # type: ignore[assignment]  # events have none


@dataclass(frozen=True)
class Entry:
    """A notification as its message carries it: its event, at its offset in the log, and its reasons.

    ``recipient_id`` is the user it is for, if it is one; ``recipient_gone``: that user no longer exists.
    ``incident`` is the one that its failure belongs to, if nobody has acknowledged it.
    ``answered_reasons`` are those for which it reminds of a change request that no longer asks for an answer.
    ``in_brief``: the event is without the large values of its entity.
    ``whole_id`` is the event of the whole that its event is part of, None if of none: the event itself says so only
    to who may see everything. ``parts`` are notifications that are told with it. ``told_count``: as how many it counts,
    where several are told as one.
    """

    notification_id: str
    log_offset: int
    carried: CarriedEvent
    reasons: tuple[Reason, ...] = ()
    recipient_id: str | None = None
    recipient_gone: bool = False
    incident: OpenIncident | None = None
    answered_reasons: tuple[Reason, ...] = ()
    in_brief: bool = False
    whole_id: str | None = None
    parts: tuple[Entry, ...] = ()
    told_count: int = 1

    @property
    def event(self) -> ChangeEvent:
        """Return the event as a model."""
        return self.carried.event

    def with_event(self, event: ChangeEvent) -> Entry:
        """Return the notification with another form of its event: mostly it is the same."""
        return self if event is self.carried.event else replace(self, carried=CarriedEvent.of(event))


class DroppedReason(WireModel):
    """A reason of a notification that an attempt did not send, and why; ``says`` is a sentence for people."""

    notification_id: str
    reason: Reason
    because: OutcomeReason
    says: str


@dataclass(frozen=True)
class Attempt:
    """One attempt at one message, stored for explanations; ``dropped`` holds the reasons that it left out.

    ``template_error`` says why a template did not word it; empty if it did, or there is none.
    """

    message_id: str
    number: int
    started_at_ms: int
    duration_ms: int
    outcome: Outcome
    dropped: tuple[DroppedReason, ...] = ()
    template_error: str = ""
