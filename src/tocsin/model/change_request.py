"""Change requests: a change of an asset or column, announced before it happens, and what its consumers answer.

Next: ``flow/track/change_requests.py`` for what may be done when, ``store/catalogue/changes/requests.py`` for the rows.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, NamedTuple, Self
from uuid import UUID

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from tocsin.clock import LATEST_MS, moment_of
from tocsin.model.announcement import ChangeOutcome
from tocsin.model.change import CHANGE_REQUEST, ChangeEvent, EventType
from tocsin.model.entity import Document, WireModel

LONGEST_TEXT = 4_000
"""Characters of a reason, a comment."""

LONGEST_NAME = 1_000
"""Characters of the name of a column, of a new name or type, of a replacement."""

MOST_CONSUMERS = 10_000
"""Consumers of one request; what lies further downstream is left out."""

MOST_NAMED = 1_000
"""Consumers that one answer may name."""

LONGEST_INTERVAL_DAYS = 366
"""Days between two reminders, at most."""

_NAME = re.compile(r"CR-([1-9]\d{0,17})", re.ASCII | re.IGNORECASE)


class ChangeKind(StrEnum):
    """What is announced."""

    REMOVAL = "removal"
    TYPE = "type"
    RENAME = "rename"
    DEPRECATION = "deprecation"


class RequestStatus(StrEnum):
    """How far a request is, by its row and the time."""

    ANNOUNCED = "announced"
    DUE = "due"
    """Its date has come: answers are final."""
    DONE = "done"
    """What it is about has changed."""
    WITHDRAWN = "withdrawn"


class ConsumerVerdict(StrEnum):
    """What a consumer answers."""

    READY = "ready"
    NOT_AFFECTED = "notAffected"
    NEEDS_TIME = "needsTime"
    OBJECTS = "objects"


class AnswerWay(StrEnum):
    """By what an answer came; those of the API have none."""

    LINK = "link"
    """By the link in a mail."""
    CHAT = "chat"
    """By a button in a chat."""


class Basis(StrEnum):
    """Why something is a consumer."""

    COLUMN = "column"
    """By column lineage."""
    ASSET = "asset"
    """By lineage that names no columns, or of an asset as a whole."""
    FOLLOW = "follow"
    """A person follows the asset."""


class RequestStepKind(StrEnum):
    """What happens to a request: what people do, and on the date the question to its author, or a deprecation."""

    ANNOUNCED = "announced"
    ASKED = "asked"
    """The date has come, and what was announced has not happened."""
    MISSING = "missing"
    """The date has come, and the column is there no more: its author is not asked."""
    ANSWERED = "answered"
    COMMENTED = "commented"
    REMINDED = "reminded"
    """Who has not answered hears of it again."""
    MOVED = "moved"
    WITHDRAWN = "withdrawn"
    DONE = "done"
    """The change is made."""


@dataclass(frozen=True)
class AnnouncedChange:
    """A request: what of which asset changes, when and why, and who announced it. Times are epoch milliseconds.

    Attributes
    ----------
    number : 0 until it is stored
    column_path : FQN of the column below that of the asset; None: the asset as a whole
    new_value : the new type or the new name
    replacement : what to use in its place, as text
    outcome : how the change differs from the announcement; None until it is made
    remind_every_days : between two reminders; None or 0: there are none
    remind_at_ms : when those that are open are reminded next
    """

    id: str
    entity_id: str
    entity_type: str
    kind: ChangeKind
    due_at_ms: int
    why: str
    author_id: str
    author_name: str
    announced_at_ms: int
    updated_at_ms: int
    number: int = 0
    column_path: str | None = None
    new_value: str | None = None
    replacement: str | None = None
    withdrawn_at_ms: int | None = None
    done_at_ms: int | None = None
    outcome: ChangeOutcome | None = None
    remind_every_days: int | None = None
    remind_at_ms: int | None = None

    @property
    def name(self) -> str:
        """Return what people call it: ``CR-12``."""
        return f"CR-{self.number}"

    @property
    def author(self) -> Document:
        """Return a reference to who announced it, as they were called then."""
        return {"id": self.author_id, "type": "user", "name": self.author_name}

    @property
    def subject(self) -> Document:
        """Return a reference to its asset, by id and type."""
        return {"id": self.entity_id, "type": self.entity_type}


@dataclass(frozen=True)
class StandingRequest:
    """A request that changes are compared with, how many answers are open, and whether a consumer objects."""

    request: AnnouncedChange
    open_count: int
    is_objected: bool


@dataclass(frozen=True)
class RequestStep:
    """Something that a person did to a request, and of an answer: for which consumer, and what it says.

    ``until_ms`` is the new date of a request that was moved, or until when a consumer needs time. ``event_id`` is the
    event that says so, to the people whom it asks. ``way`` is by what an answer came, None of the API.
    """

    id: str
    request_id: str
    kind: RequestStepKind
    at_ms: int
    user_id: str
    user_name: str
    comment: str | None = None
    until_ms: int | None = None
    consumer_id: str | None = None
    consumer_type: str | None = None
    verdict: ConsumerVerdict | None = None
    event_id: str | None = None
    way: AnswerWay | None = None

    @property
    def author(self) -> Document:
        """Return a reference to who did it, as they were called then."""
        return {"id": self.user_id, "type": "user", "name": self.user_name}

    def says_the_same(self, step: Self) -> bool:
        """Return whether it is the same person's same answer."""
        return self._content() == step._content()

    def is_answer(self, answer: ChangeAnswer, user_id: str) -> bool:
        """Return whether it is this answer by this person."""
        return self._content() == (user_id, answer.answer, answer.until, answer.comment)

    def _content(self) -> tuple[object, ...]:
        return self.user_id, self.verdict, self.until_ms, self.comment


@dataclass(frozen=True)
class ChangeConsumer:
    """An asset that reads what changes, ``level`` steps below it, or a person who follows it (level 0)."""

    id: str
    type: str
    level: int
    basis: Basis

    @property
    def reference(self) -> Document:
        """Return a reference to it, by id and type."""
        return {"id": self.id, "type": self.type}


class ConsumerAnswer(NamedTuple):
    """A consumer of a request, and the step that is its present answer; None while it is open."""

    consumer: ChangeConsumer
    answer: RequestStep | None


def _moment(value: object) -> object:
    if not isinstance(value, str):
        return value
    if (moment_ms := moment_of(value)) is None:
        raise ValueError(f"must be a date or time such as 2026-12-09T10:00, not {value!r}")
    return moment_ms


Moment = Annotated[
    int,
    Field(ge=0, le=LATEST_MS, strict=True),
    BeforeValidator(_moment, json_schema_input_type=int | str),
]
"""Epoch milliseconds, or a date or time of ISO 8601; UTC without a zone."""


class ChangeAnnouncement(WireModel):
    """What a new request announces: ``date`` is when the change happens.

    ``remind_every_days`` is after how many days those that have not answered are reminded, each time; 0: never.
    """

    entity: Document
    kind: ChangeKind
    column: str | None = Field(default=None, min_length=1, max_length=LONGEST_NAME, validate_default=True)
    new_value: str | None = Field(
        default=None, min_length=1, max_length=LONGEST_NAME, pattern=r"\S", validate_default=True
    )
    date: Moment
    why: str = Field(min_length=1, max_length=LONGEST_TEXT, pattern=r"\S")
    replacement: str | None = Field(default=None, min_length=1, max_length=LONGEST_NAME, pattern=r"\S")
    remind_every_days: int = Field(default=7, ge=0, le=LONGEST_INTERVAL_DAYS, strict=True)

    @field_validator("column")
    @classmethod
    def _check_column(cls, column: str | None, info: ValidationInfo) -> str | None:
        if column is None and info.data.get("kind") is ChangeKind.TYPE:
            raise ValueError("is missing: the column that gets the new type")
        return column

    @field_validator("new_value")
    @classmethod
    def _check_new_value(cls, new_value: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("kind")
        has_new = kind in (ChangeKind.TYPE, ChangeKind.RENAME)
        if has_new and new_value is None:
            raise ValueError(f"is missing: the new {'type' if kind is ChangeKind.TYPE else 'name'}")
        if kind is not None and not has_new and new_value is not None:
            raise ValueError(f"is for kinds type and rename, kind {kind} has none")
        return new_value


class ChangeAnswer(WireModel):
    """An answer for some consumers, by their ids; without them, for all that the sender answers for."""

    answer: ConsumerVerdict
    consumers: tuple[UUID, ...] | None = Field(default=None, min_length=1, max_length=MOST_NAMED)
    until: Moment | None = Field(default=None, validate_default=True)
    comment: str | None = Field(
        default=None, min_length=1, max_length=LONGEST_TEXT, pattern=r"\S", validate_default=True
    )

    @field_validator("until")
    @classmethod
    def _check_until(cls, until: int | None, info: ValidationInfo) -> int | None:
        answer = info.data.get("answer")
        if answer is ConsumerVerdict.NEEDS_TIME and until is None:
            raise ValueError("is missing: until when you need time")
        if answer is not None and answer is not ConsumerVerdict.NEEDS_TIME and until is not None:
            raise ValueError(f"is for needsTime, {answer} has none")
        return until

    @field_validator("comment")
    @classmethod
    def _check_comment(cls, comment: str | None, info: ValidationInfo) -> str | None:
        if comment is None and info.data.get("answer") is ConsumerVerdict.OBJECTS:
            raise ValueError("is missing: say why you object")
        return comment


class ChangeMove(WireModel):
    """A later date of a request, and why."""

    date: Moment
    comment: str | None = Field(default=None, min_length=1, max_length=LONGEST_TEXT, pattern=r"\S")


class ChangeWithdrawal(WireModel):
    """Why a request is withdrawn."""

    comment: str | None = Field(default=None, min_length=1, max_length=LONGEST_TEXT, pattern=r"\S")


class ChangeComment(WireModel):
    """A contribution to the discussion of a request."""

    comment: str = Field(min_length=1, max_length=LONGEST_TEXT, pattern=r"\S")


class ChangeReminder(WireModel):
    """The consumer of a request, by its id, whose answer is still open."""

    consumer: UUID


def is_request_reminder(event: ChangeEvent) -> bool:
    """Return whether the event reminds of a change request that has not been answered."""
    return event.event_type is EventType.CHANGE_REQUEST_REMINDER


class AskedAsset(NamedTuple):
    """An asset that makes a person, or the team of that name, a consumer of a change request: they answer for it.

    ``reads_column``: by lineage of columns it reads the one that is to change.
    """

    full_name: str
    name: str
    team: str | None = None
    reads_column: bool = False


class ObjectionReason(NamedTuple):
    """Why a consumer, an asset or a person by their full name, objects to a change request.

    ``display_name`` is what a person is called.
    """

    full_name: str
    comment: str
    display_name: str | None = None


class AskedFor(NamedTuple):
    """What a change request asks a person for: assets, those nearest downstream first, and whether they follow it.

    ``objection`` is why a consumer objects, to the author of the request.
    """

    assets: tuple[AskedAsset, ...] = ()
    follows: bool = False
    objection: ObjectionReason | None = None

    @property
    def full_names(self) -> set[str]:
        """Return the full names of what it names."""
        objecting = {self.objection.full_name} if self.objection else set()
        return {one.full_name for one in self.assets} | objecting

    def among(self, full_names: Container[str]) -> AskedFor:
        """Return it with those assets only that have one of these names, and an objection only of one of them."""
        assets = tuple(one for one in self.assets if one.full_name in full_names)
        is_objection_seen = self.objection is not None and self.objection.full_name in full_names
        return self._replace(assets=assets, objection=self.objection if is_objection_seen else None)


NOT_ASKED = AskedFor()


class RequestNow(NamedTuple):
    """A request when a message about it is sent: who announced it, its date, and if it takes no answers, why."""

    author_id: str
    due_at_ms: int
    ended: RequestStatus | None = None

    def at(self, now_ms: int) -> RequestNow:
        """Return it as it is at a time: due from its date on."""
        is_due = self.ended is None and self.due_at_ms <= now_ms
        return self._replace(ended=RequestStatus.DUE) if is_due else self


def tells_author(event: ChangeEvent) -> bool:
    """Return whether the event concerns only the author of a change request: an answer, or that its date has come."""
    if event.event_type is EventType.CHANGE_REQUEST_ANSWERED:
        return True
    request = request_in(event) if event.event_type is EventType.CHANGE_REQUEST_UPDATED else None
    return request is not None and request.get("status") == RequestStatus.DUE


def is_past_reminder(event: ChangeEvent, at_ms: int) -> bool:
    """Return whether the event reminds of a change request whose date, as it names it, has come at a time."""
    request = request_in(event) if is_request_reminder(event) else None
    return request is not None and request["date"] <= at_ms


def request_in(event: ChangeEvent) -> Document | None:
    """Return the change request that an event tells of, as it is then."""
    described = event.change_description
    changes = (*described.fields_added, *described.fields_updated) if described else ()
    values = (one.new_value for one in changes if one.name == CHANGE_REQUEST)
    return next((value for value in values if isinstance(value, dict)), None)


def number_in(name: str) -> int | None:
    """Return the number in a name such as ``CR-12``; None if it is no such name."""
    name_match = _NAME.fullmatch(name)
    return int(name_match[1]) if name_match else None
