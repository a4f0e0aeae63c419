"""Change events: the record of one change of one entity, as stored in the log.

Source: seeds/002 (the default format) and OpenMetadata 1.13 ``type/changeEvent.json``; where they disagree
the seed wins (``docs/decisions``). Next: ``model/subscription.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import orjson
from pydantic import Field, PlainSerializer

from tocsin.model.announcement import Announcement
from tocsin.model.breaking import BreakingReason
from tocsin.model.entity import Document, WireModel, version_to_wire

Version = Annotated[Decimal, PlainSerializer(version_to_wire, return_type=float, when_used="json")]


_LARGE_BYTES = 4_096

VIOLATION = "violation"
"""The field of a ``policyViolation`` event that says who was refused what."""

LINEAGE = "lineage"
"""The field of an event that says which edge was made, changed or removed."""

RETENTION = "retention"
"""The field of a ``retentionApplied`` event, and of events about the settings of retention and its legal holds."""

SILENCE = "silence"
"""The field of an ``slaViolation`` event that says for how long an entity has reported no success."""

STILL_FAILING, STILL_STALE, STILL_WITHOUT_OWNER = "stillFailing", "stillStale", "stillWithoutOwner"
IS_CUT = "isCut"
"""The fact of a state that its check found more assets than it names."""
ASSET_STATES = (STILL_FAILING, STILL_STALE, STILL_WITHOUT_OWNER)
"""The fields of a ``scheduledCheck`` event: what is still so of the asset at a time of a schedule."""

INCIDENT_REMINDER = "incidentReminder"
"""The field of an ``incidentReminder`` event: an incident that nobody has acknowledged, and which alerts remind."""

STATE_AT_SCHEDULE = "stateAtSchedule"
"""The derived field of a ``scheduledCheck`` event that says what was found, and for which schedule.

That of an ``incidentReminder`` event says which alerts remind.
"""

RECORDED = "recorded"
"""The derived field of an event that was written from a history (``tocsin replay``)."""

LATE = "late"
"""The derived field of an event that reports what was too old, or still to come, to notify anybody."""

REPORTED_AT = "reportedAt"
"""The derived field that says when the result or run was that an event reports."""

RENAMED, REMOVED_RECEIVER = "renamed", "removedReceiver"
"""Changes that a version by Tocsin itself reports beside those of the document: why it changes an alert or policy."""
CHANGED_SECRETS = "changedSecrets"
"""The change of a version in which nothing but secrets differ: the ids of the destinations that have them."""
FINDING = "finding"
"""The field of an ``auditFinding`` event that says what the audit found."""


DESTINATION = "destination"
"""The field of a ``destinationFailing`` or ``destinationStopped`` event that says which destination fails."""


EDITORS = "editors"
"""The field of an alert's event that says who took the alert over, and from whom."""

EDITOR_VIEW = "editorView"
"""The field of an ``alertNarrowed`` event that says which editor of the alert may view how much of what it covers."""

EXPIRY = "expiry"
"""The field of an ``alertExpiring`` or ``alertExpired`` event that says when the alert expires."""

LAG = "lag"
"""The field of a ``lagExceeded`` or ``lagRecovered`` event that says which reader of the log lags, and how much."""

ALERT_INCIDENT, OTHER_INCIDENT, IS_REMARK, IS_RESTORED = "alertIncident", "otherIncident", "isRemark", "isRestored"
"""The field of an ``alertIncidentUpdated`` event that says what a person did to an incident of an alert.

Its ``otherIncident`` is the asset of the incident into which it was merged, or from which it was split, whose name is
the ``incident`` of that reference. ``isRemark``: they said something, and changed nothing.
"""

MEANT_FOR, AWAY_UNTIL = "for", "awayUntil"
"""The person for whom an incident was assigned, in the change that assigns it, who is away until then (epoch ms).

The assignee is their substitute, or themselves; in timelines of incidents the two keys stand side by side.
"""

CHANGE_REQUEST = "changeRequest"
"""The field of a ``changeRequestUpdated`` event that says what was announced of an asset, moved or withdrawn."""


SUITE_SUMMARY = "summary"
"""The field of a ``testSuiteRunCompleted`` event: OpenMetadata's summary of a suite, with the result of each test."""

OWN_FIELDS = frozenset(
    {VIOLATION, LINEAGE, RETENTION, SILENCE, RENAMED, REMOVED_RECEIVER, CHANGED_SECRETS, FINDING, DESTINATION, EDITORS}
    | {EDITOR_VIEW, EXPIRY, LAG, ALERT_INCIDENT, CHANGE_REQUEST, SUITE_SUMMARY}
    | {*ASSET_STATES, INCIDENT_REMINDER}
)
"""Fields that only Tocsin's own events change, no document."""


BREAKING_REASONS = "breakingReasons"
"""The key under which the log keeps why an event breaks who reads its asset."""

REASON = "reason"
"""The key under which the log keeps why a change was made, as its author says."""

ANNOUNCEMENTS = "announcements"
"""The key under which the log keeps what change requests announced of the change."""

PART_OF, BELOW_COUNT, IMPORTED = "partOf", "belowCount", "imported"
"""The keys under which the log keeps the whole that an event is part of, how many parts a whole has, and of which
types the parts of an import are."""

BULK_IMPORT = "bulkImport"
"""The field of an event that says that something was imported below its entity, as OpenMetadata names it."""


class EventType(StrEnum):
    """Kind of change that an event records: OpenMetadata's 21, then Tocsin's own."""

    ENTITY_CREATED = "entityCreated"
    ENTITY_UPDATED = "entityUpdated"
    ENTITY_FIELDS_CHANGED = "entityFieldsChanged"
    ENTITY_NO_CHANGE = "entityNoChange"
    ENTITY_SOFT_DELETED = "entitySoftDeleted"
    ENTITY_DELETED = "entityDeleted"
    ENTITY_RESTORED = "entityRestored"
    THREAD_CREATED = "threadCreated"
    THREAD_UPDATED = "threadUpdated"
    POST_CREATED = "postCreated"
    POST_UPDATED = "postUpdated"
    TASK_RESOLVED = "taskResolved"
    TASK_CLOSED = "taskClosed"
    LOGICAL_TEST_CASE_ADDED = "logicalTestCaseAdded"
    SUGGESTION_CREATED = "suggestionCreated"
    SUGGESTION_UPDATED = "suggestionUpdated"
    SUGGESTION_ACCEPTED = "suggestionAccepted"
    SUGGESTION_REJECTED = "suggestionRejected"
    SUGGESTION_DELETED = "suggestionDeleted"
    USER_LOGIN = "userLogin"
    USER_LOGOUT = "userLogout"

    POLICY_VIOLATION = "policyViolation"
    TEST_CASE_FAILURE = "testCaseFailure"
    FRESHNESS_VIOLATION = "freshnessViolation"
    PROFILE_ANOMALY = "profileAnomaly"
    SLA_VIOLATION = "slaViolation"
    USAGE_DROP = "usageDrop"
    QUERY_PATTERN_CHANGE = "queryPatternChange"
    AUDIT_FINDING = "auditFinding"
    DESTINATION_FAILING = "destinationFailing"
    DESTINATION_STOPPED = "destinationStopped"
    ALERT_NARROWED = "alertNarrowed"
    ALERT_EXPIRING = "alertExpiring"
    ALERT_EXPIRED = "alertExpired"
    ALERT_INCIDENT_UPDATED = "alertIncidentUpdated"
    CHANGE_REQUEST_UPDATED = "changeRequestUpdated"
    CHANGE_REQUEST_ANSWERED = "changeRequestAnswered"
    CHANGE_REQUEST_REMINDER = "changeRequestReminder"
    TEST_SUITE_RUN_COMPLETED = "testSuiteRunCompleted"
    RETENTION_APPLIED = "retentionApplied"
    SCHEDULED_CHECK = "scheduledCheck"
    INCIDENT_REMINDER = "incidentReminder"
    LAG_EXCEEDED = "lagExceeded"
    LAG_RECOVERED = "lagRecovered"


OF_CHANGE_REQUESTS = (
    EventType.CHANGE_REQUEST_UPDATED,
    EventType.CHANGE_REQUEST_ANSWERED,
    EventType.CHANGE_REQUEST_REMINDER,
)
OF_ALERTS = (
    EventType.AUDIT_FINDING,
    EventType.DESTINATION_FAILING,
    EventType.DESTINATION_STOPPED,
    EventType.ALERT_NARROWED,
    EventType.ALERT_EXPIRING,
    EventType.ALERT_EXPIRED,
    EventType.LAG_EXCEEDED,
    EventType.LAG_RECOVERED,
)
"""Types of events on alerts that nobody has changed."""

SESSION_EVENTS = (EventType.USER_LOGIN, EventType.USER_LOGOUT)
NAMED_ONLY = (
    *SESSION_EVENTS,
    EventType.ALERT_INCIDENT_UPDATED,
    EventType.CHANGE_REQUEST_ANSWERED,
    EventType.CHANGE_REQUEST_REMINDER,
    EventType.TEST_SUITE_RUN_COMPLETED,
    EventType.RETENTION_APPLIED,
    EventType.SCHEDULED_CHECK,
    EventType.INCIDENT_REMINDER,
)
"""Types of event that an alert matches only if it names them."""
FOR_ALERTS = (EventType.SCHEDULED_CHECK, EventType.INCIDENT_REMINDER)
"""Types of event that are written because of what alerts ask, of assets that nobody changed: listed only by name."""


class FieldChange(WireModel):
    """One changed field: its path (``columns.email.description``), old value and new value."""

    name: str
    old_value: Any = None  # Any: a JSON value of whatever field changed
    new_value: Any = None  # Any: as above

    def is_update(self) -> bool:
        """Return whether the field had a value before and has one now."""
        return self.old_value is not None and self.new_value is not None

    def as_wire(self) -> Document:
        """Return what ``to_wire`` does, but with the very values that this holds: to be read at once, not kept."""
        wire = {"name": self.name}
        if self.old_value is not None:
            wire["oldValue"] = self.old_value
        if self.new_value is not None:
            wire["newValue"] = self.new_value
        return wire


class ChangeDescription(WireModel):
    """Which fields a change added, updated and deleted, and the version it started from."""

    fields_added: tuple[FieldChange, ...] = ()
    fields_updated: tuple[FieldChange, ...] = ()
    fields_deleted: tuple[FieldChange, ...] = ()
    previous_version: Version | None = None

    def with_changes(self, *changes: FieldChange) -> ChangeDescription:
        """Return it with more changes: a field without an old value is added, one without a new value deleted."""
        return ChangeDescription(
            fields_added=(*self.fields_added, *(one for one in changes if one.old_value is None)),
            fields_updated=(*self.fields_updated, *(one for one in changes if one.is_update())),
            fields_deleted=(*self.fields_deleted, *(one for one in changes if one.new_value is None)),
            previous_version=self.previous_version,
        )

    def since(self, version: Decimal) -> ChangeDescription:
        """Return it with the version it started from."""
        return ChangeDescription(
            fields_added=self.fields_added,
            fields_updated=self.fields_updated,
            fields_deleted=self.fields_deleted,
            previous_version=version,
        )

    def is_empty(self) -> bool:
        """Return whether nothing changed."""
        return not (self.fields_added or self.fields_updated or self.fields_deleted)

    def paths(self) -> tuple[str, ...]:
        """Return the path of every changed field, in the order added, updated, deleted."""
        return tuple(c.name for c in (*self.fields_added, *self.fields_updated, *self.fields_deleted))

    def as_wire(self) -> Document:
        """Return what ``to_wire`` does, but with the very values that this holds: to be read at once, not kept."""
        wire: Document = {
            "fieldsAdded": [one.as_wire() for one in self.fields_added],
            "fieldsUpdated": [one.as_wire() for one in self.fields_updated],
            "fieldsDeleted": [one.as_wire() for one in self.fields_deleted],
        }
        if self.previous_version is not None:
            wire["previousVersion"] = version_to_wire(self.previous_version)
        return wire


def describe(name: str, *, old: Any = None, new: Any = None) -> ChangeDescription:  # Any: as in ``FieldChange``
    """Return the description of the change of one field: added without an old value, deleted without a new one."""
    return ChangeDescription().with_changes(FieldChange(name=name, old_value=old, new_value=new))


class ImportedCount(WireModel):
    """How many entities of a type an import created and updated; one that it restored counts as updated."""

    entity_type: str
    created: int
    updated: int


class ChangeEvent(WireModel):
    """One change of one entity.

    ``id`` is a UUIDv7. ``user_id`` is a UUID or the seed's literal ``system``. ``timestamp`` is epoch
    milliseconds UTC. ``entity`` is the whole document after the change (before it, for ``entityDeleted``).
    ``breaking_reasons`` is ours: why the change breaks who reads the asset; None where it does not, or nobody has
    judged it yet (``conditions/breaking.py``). ``reason`` is ours as well: why the change was made, as its author says.
    So is ``announcements``: what change requests announced of the change; None where it needs no announcement, or
    nobody has looked for one. So are ``below_count``, of the event of an entity that was deleted, restored or renamed
    with all below it: how many these are; ``imported``, of the event of an import below the entity: what it wrote; and
    ``part_of``, of the event of each of these: the id of the former, the whole. The parts of an import that changed
    little name a whole that there is not (``flow/capture/imports.py``). Formats name the keys they have, and these are
    only in ``tocsin``.
    """

    id: str
    event_type: EventType
    entity_type: str
    entity_id: str
    entity_fully_qualified_name: str | None = None
    domains: tuple[str, ...] | None = None
    previous_version: Version | None = None
    current_version: Version | None = None
    user_name: str | None = None
    user_id: str | None = None
    timestamp: int
    change_description: ChangeDescription | None = None
    entity: Document | None = Field(default=None)
    breaking_reasons: tuple[BreakingReason, ...] | None = None
    reason: str | None = None
    announcements: tuple[Announcement, ...] | None = None
    below_count: int | None = None
    imported: tuple[ImportedCount, ...] | None = None
    part_of: str | None = None

    @property
    def is_whole(self) -> bool:
        """Return whether events of other entities are told with it, as far as its reader may know."""
        return self.below_count is not None or self.imported is not None

    @property
    def is_import(self) -> bool:
        """Return whether it says that something was imported below its entity, even if it may not say how much."""
        changes = self.change_description.fields_updated if self.change_description else ()
        return any(change.name == BULK_IMPORT for change in changes)

    def as_wire(self) -> Document:
        """Return what ``to_wire`` does, but with the very values that this holds: to be read at once, not kept.

        Written out here, in a fraction of the time that pydantic takes.
        """
        wire: Document = {
            "id": self.id,
            "eventType": self.event_type,
            "entityType": self.entity_type,
            "entityId": self.entity_id,
        }
        if self.entity_fully_qualified_name is not None:
            wire["entityFullyQualifiedName"] = self.entity_fully_qualified_name
        if self.domains is not None:
            wire["domains"] = self.domains
        if self.previous_version is not None:
            wire["previousVersion"] = version_to_wire(self.previous_version)
        if self.current_version is not None:
            wire["currentVersion"] = version_to_wire(self.current_version)
        if self.user_name is not None:
            wire["userName"] = self.user_name
        if self.user_id is not None:
            wire["userId"] = self.user_id
        wire["timestamp"] = self.timestamp
        if self.change_description is not None:
            wire["changeDescription"] = self.change_description.as_wire()
        if self.entity is not None:
            wire["entity"] = self.entity
        return wire | self._own_keys()

    def _own_keys(self) -> Document:
        """Return the keys of ours that it has, besides those of its schema."""
        keys: Document = {}
        if self.breaking_reasons:
            keys[BREAKING_REASONS] = [reason.to_wire() for reason in self.breaking_reasons]
        if self.announcements is not None:
            keys[ANNOUNCEMENTS] = [one.to_wire() for one in self.announcements]
        if self.imported is not None:
            keys[IMPORTED] = [count.to_wire() for count in self.imported]
        for key, value in ((REASON, self.reason), (BELOW_COUNT, self.below_count), (PART_OF, self.part_of)):
            if value is not None:
                keys[key] = value
        return keys

    def by_itself(self) -> ChangeEvent:
        """Return the event without what it says of events of other entities."""
        if not self.is_whole and self.part_of is None:
            return self
        return self.model_copy(update={"below_count": None, "imported": None, "part_of": None})

    def in_brief(self) -> ChangeEvent:
        """Return the event without the large values of its entity, such as the columns of a wide table."""
        if self.entity is None:
            return self
        small = {key: value for key, value in self.entity.items() if not _is_large(value)}
        return self.model_copy(update={"entity": small})

    def to_json(self) -> str:
        """Return what ``as_wire`` does, as text."""
        return orjson.dumps(self.as_wire()).decode()


def _is_large(value: object) -> bool:
    return isinstance(value, str | list | dict) and len(orjson.dumps(value)) > _LARGE_BYTES


class LoggedDocument(NamedTuple):
    """A change event as JSON, as ``as_wire`` returns it, at its place in the log."""

    offset: int
    event: Document


@dataclass(frozen=True)
class LoggedEvent:
    """A change event at its place in the log.

    ``offset`` orders all events; ``derived`` holds the fields worked out from the event once, when it was
    captured (``conditions/fields.py`` says which and how).
    """

    offset: int
    event: ChangeEvent
    derived: Document

    @property
    def is_recorded(self) -> bool:
        """Return whether it comes from a replayed history: its time is that of the history, not that of the writing."""
        return self.derived.get(RECORDED) is True

    @property
    def is_late(self) -> bool:
        """Return whether what it reports was too old to notify anybody when it was reported, or still to come."""
        return self.derived.get(LATE) is True

    @property
    def reported_at_ms(self) -> int | None:
        """Return when the result or run was that it reports; None if it reports none."""
        return self.derived.get(REPORTED_AT)
