"""Incidents of what fails: opened by a failure that an alert matched, resolved by recovery or by hand.

Every alert that matches the failure watches the same incident. They are not the incidents of test cases
(``model/report.py``), which OpenMetadata defines and every failed test opens.
Next: ``flow/track/alert_incidents.py``, ``store/catalogue/alerts/incidents.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple, Self
from uuid import uuid5

from tocsin.model.entity import Document
from tocsin.model.notification import NAMESPACE
from tocsin.model.severity import Severity

PREFIX = "INC-"

REASONS = ("FalsePositive", "MissingData", "Duplicates", "OutOfBounds", "Other")
"""Why something failed. *Source:* OpenMetadata's ``tests/resolved.json``, ``testCaseFailureReasonType``."""
_NAME = re.compile(r"INC-([1-9]\d{0,17})", re.ASCII | re.IGNORECASE)


class IncidentStatus(StrEnum):
    """How far an incident is."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


class StepKind(StrEnum):
    """What happened to an incident."""

    OPENED = "opened"
    ACKNOWLEDGED = "acknowledged"
    ASSIGNED = "assigned"
    RESOLVED = "resolved"
    """By hand."""
    MERGED = "merged"
    """By hand, into another one."""
    SPLIT = "split"
    """By hand, from the one that it was part of."""
    NOT_CAUSED = "notCaused"
    """By hand: another one, upstream of it, is not its cause."""
    CAUSE_RESTORED = "causeRestored"
    """By hand: another one, dismissed as its cause before, may be it after all."""
    COMMENTED = "commented"
    """By a person who neither takes it nor ends it."""
    REMINDED = "reminded"
    """By Tocsin, of one that nobody has acknowledged."""
    RECOVERED = "recovered"
    """By the next success of the asset."""


ABOUT_CAUSES = frozenset({StepKind.NOT_CAUSED, StepKind.CAUSE_RESTORED})
"""What people said of the probable causes of an incident; of each, the last counts."""


class IncidentPlace(NamedTuple):
    """The asset of an incident, by type and id, and what people call the incident: ``INC-7``."""

    entity_type: str
    entity_id: str
    name: str


class IncidentName(NamedTuple):
    """What identifies an incident."""

    id: str
    number: int


@dataclass(frozen=True)
class AlertIncident:
    """An incident: of which asset, how far it is, whose it is.

    ``opened_offset`` and ``recovered_offset`` are the places in the log of the failure and of the success.
    ``assignee`` is a reference to a user or team: id and type. ``merged_into`` is the incident that this one has become
    part of; then all but id and number is that incident's. ``severity`` is how bad it is, None where neither an
    alert that watches it nor the tier of the asset says so. ``part_of`` is the id of an incident of which a person made
    this one a part: it goes on, and what is done to that one is done to it. ``state_id`` is that of the test case's own
    incident, which says the same (``model/report.py``); None for other assets.
    """

    id: str
    number: int
    entity_id: str
    entity_type: str
    status: IncidentStatus
    opened_offset: int
    opened_at_ms: int
    opened_event_id: str
    updated_at_ms: int
    assignee: Document | None = None
    recovered_offset: int | None = None
    recovered_event_id: str | None = None
    resolved_at_ms: int | None = None
    merged_into: IncidentName | None = None
    severity: Severity | None = None
    part_of: str | None = None
    state_id: str | None = None

    @property
    def lead_id(self) -> str:
        """Return the id of the incident that this one is part of; its own, mostly."""
        return self.id if self.merged_into is None else self.merged_into.id

    def as_part(self, lead: Self) -> Self:
        """Return this incident, which was merged into ``lead``, as that one is now, under its own name."""
        return replace(lead, id=self.id, number=self.number, merged_into=IncidentName(lead.id, lead.number))

    @property
    def name(self) -> str:
        """Return what people call it: ``INC-7``."""
        return name_of(self.number)

    @property
    def is_open(self) -> bool:
        """Return whether something is still to be done."""
        return self.status is not IncidentStatus.RESOLVED


class HandledAt(NamedTuple):
    """Whose rights count for an incident: the id of its asset, and of the person or team that is assigned to it."""

    entity_id: str
    assignee_id: str | None


class OpenIncident(NamedTuple):
    """An incident that nobody has acknowledged yet: its number, and where a right to change it comes from.

    Who may change the one that it is part of (``of_lead``) acknowledges that one, others this one (``place``).
    """

    number: int
    place: HandledAt | None = None
    of_lead: HandledAt | None = None

    @property
    def places(self) -> tuple[HandledAt, ...]:
        """Return where a right to change it may come from."""
        return tuple(filter(None, (self.place, self.of_lead)))

    @property
    def name(self) -> str:
        """Return what people call it."""
        return name_of(self.number)


@dataclass(frozen=True)
class AlertIncidentStep:
    """Something that a person did to an incident, and the change event that says so, if there is one.

    ``other_id`` is the incident into which it was merged, from which it was split, or which is not its cause.
    ``for_id`` is the person for whom it was assigned, who was away until ``away_until_ms``: the assignee is their
    substitute, or themselves.
    """

    id: str
    incident_id: str
    kind: StepKind
    at_ms: int
    user_id: str
    user_name: str
    event_id: str | None = None
    comment: str | None = None
    assignee: Document | None = None
    reason: str | None = None
    other_id: str | None = None
    for_id: str | None = None
    away_until_ms: int | None = None


def reminder_key(subscription_id: str) -> str:
    """Return what stands for an alert in the events of its reminders, which do not say whose they are."""
    return str(uuid5(NAMESPACE, f"reminders of|{subscription_id}"))


def reminder_event_id(identity: str, number: int) -> str:
    """Return the id of the event of a reminder of an incident: the first has number 1."""
    return str(uuid5(NAMESPACE, f"reminder|{identity}|{number}"))


def incident_id(entity_id: str, after_offset: int) -> str:
    """Return the id of the incident of an asset that begins after a place in the log."""
    return str(uuid5(NAMESPACE, f"incident|{entity_id}|{after_offset}"))


def name_of(number: int) -> str:
    """Return what people call the incident of that number."""
    return f"{PREFIX}{number}"


def number_in(name: str) -> int | None:
    """Return the number in a name such as ``INC-7``; None if it is no such name."""
    name_match = _NAME.fullmatch(name)
    return int(name_match[1]) if name_match else None
