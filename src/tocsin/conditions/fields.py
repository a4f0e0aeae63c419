"""Table of the event fields that a condition can name, with their types and values.

``derive`` computes, once per captured event, the fields that the event does not carry itself; both engines
read the same stored values. Next: ``conditions/parse.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from functools import cached_property, lru_cache
from itertools import chain

from tocsin.conditions import documents
from tocsin.conditions.announced import IS_ANNOUNCED, OPEN_ANSWERS, announced_fields
from tocsin.conditions.breaking import IS_BREAKING, reasons_of_event
from tocsin.conditions.changes import CHANGE_SETS, CHANGES, SEPARATOR, derived_changes, reduce_change
from tocsin.conditions.nodes import Has, Kind, Node, Scalar
from tocsin.conditions.paths import ancestor, prefixes, suffixes, unquote
from tocsin.logic import NEVER
from tocsin.model.change import (
    ASSET_STATES,
    CHANGE_REQUEST,
    INCIDENT_REMINDER,
    LATE,
    PART_OF,
    REASON,
    RECORDED,
    REPORTED_AT,
    SILENCE,
    STATE_AT_SCHEDULE,
    SUITE_SUMMARY,
    VIOLATION,
    ChangeDescription,
    ChangeEvent,
    EventType,
    FieldChange,
    LoggedEvent,
)
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.fqn import quote
from tocsin.model.mentions import mentions_in, texts_of
from tocsin.model.status import one_word
from tocsin.model.thread import THREAD


class Provenance(Enum):
    """Where the value of a field comes from."""

    EVENT = "the event itself, under its name in JSON"
    CAPTURE = "``derive``, when the event is captured"
    STREAK = "the entity's reports so far (``flow/match/streak.py``)"
    CLOSURE = "another field, where it is needed"


@dataclass(frozen=True)
class Field:
    """One field.

    Attributes
    ----------
    name : as conditions write it; also its key in JSON
    kind : what it holds
    meaning : one line, for ``docs/conditions.md`` if conditions can name it
    provenance : where its value comes from
    stored_as : its column on Spark, where that is not the name in snake case
    scale : number of decimal places
    may_repeat : whether a set can hold a value twice
    is_internal : whether no condition can name it
    source_field : for a closure, the field it is worked out from
    depth : for a closure that holds the names at one depth of the FQN, that depth
    """

    name: str
    kind: Kind
    meaning: str
    provenance: Provenance = Provenance.CAPTURE
    _: KW_ONLY
    stored_as: str | None = None
    scale: int = 0
    may_repeat: bool = False
    is_internal: bool = False
    source_field: str = ""
    depth: int = 0

    @cached_property
    def column(self) -> str:
        """The column of the event frame (``spark/schema.py``) that holds it."""
        return self.stored_as or _snake_case(self.name)

    @cached_property
    def attribute(self) -> str | None:
        """The attribute of ``ChangeEvent`` that holds it; None if the event does not carry it."""
        return _snake_case(self.name) if self.provenance is Provenance.EVENT else None


def _snake_case(name: str) -> str:
    return re.sub("(?=[A-Z])", "_", name).lower()


FQN, TESTED_FQN = "entityFullyQualifiedName", "testedEntityFqn"
FQN_PATH = "fqnPath"
TESTED_NAMES = "testedNames"
CHANGED_TOGETHER = "changedTogether"
FIELD_CHANGED = "fieldChanged"

_EVENT, _STREAK, _CLOSURE = Provenance.EVENT, Provenance.STREAK, Provenance.CLOSURE
_ROWS = (
    Field("eventType", Kind.TEXT, "type of the event: `entityCreated`, `entityUpdated`, …", _EVENT),
    Field("entityType", Kind.TEXT, "type of the entity: `table`, `testCase`, …", _EVENT),
    Field("entityId", Kind.TEXT, "id of the entity", _EVENT),
    Field(FQN, Kind.TEXT, "FQN of the entity", _EVENT, stored_as="entity_fqn"),
    Field("userName", Kind.TEXT, "name of the actor", _EVENT),
    Field("userId", Kind.TEXT, "id of the actor", _EVENT),
    Field("isBot", Kind.BOOLEAN, "whether the actor is a bot"),
    Field("timestamp", Kind.NUMBER, "time of the event, epoch milliseconds UTC", _EVENT, stored_as="timestamp_ms"),
    Field("previousVersion", Kind.NUMBER, "version before the change", _EVENT, scale=1),
    Field("currentVersion", Kind.NUMBER, "version after the change", _EVENT, scale=1),
    Field("fieldsAdded", Kind.TEXTS, "paths of added fields", may_repeat=True),
    Field("fieldsUpdated", Kind.TEXTS, "paths of updated fields", may_repeat=True),
    Field("fieldsDeleted", Kind.TEXTS, "paths of deleted fields", may_repeat=True),
    Field(FIELD_CHANGED, Kind.TEXTS, "changed paths and their parents"),
    Field("tags", Kind.TEXTS, "tags of the asset and its columns"),
    Field("owners", Kind.TEXTS, "names of owners: people and teams"),
    Field("domains", Kind.TEXTS, "FQNs of the asset's domains"),
    Field("tier", Kind.TEXT, "tier tag: `Tier.Tier1`"),
    Field("service", Kind.TEXT, "name of the asset's service"),
    Field("testStatus", Kind.STATUS, "result of a test or of a suite's run, in the reporting event"),
    Field("pipelineStatus", Kind.STATUS, "state of a run, in the reporting event"),
    Field("testSuites", Kind.TEXTS, "FQNs of a test case's suites"),
    Field(TESTED_FQN, Kind.TEXT, "FQN of a test case's table"),
    Field("threadType", Kind.TEXT, "type of a thread: `Conversation`, `Task`, `Announcement`"),
    Field("mentions", Kind.TEXTS, "names of people and teams newly mentioned in a thread"),
    Field("changeCategory", Kind.TEXTS, "categories of the changes: `schema`, `tag`, `owner`, …"),
    Field("changeOperation", Kind.TEXTS, "operations of the changes: `add`, `remove`, `modify`"),
    Field("changeTarget", Kind.TEXTS, "targets of the changes: `asset`, or a member and its parents: `columns.email`"),
    Field(CHANGES, Kind.TEXTS, "each change as one text", is_internal=True),
    Field("unchangedFor", Kind.NUMBER, "milliseconds since the asset's previous change"),
    Field(RECORDED, Kind.BOOLEAN, "whether the event was written from a history", is_internal=True),
    Field(
        LATE,
        Kind.BOOLEAN,
        "whether what is reported was too old, or still to come, to notify anybody",
        is_internal=True,
    ),
    Field(REPORTED_AT, Kind.NUMBER, "time a reported result or run is about, epoch milliseconds UTC"),
    Field("previousStatus", Kind.STATUS, "previous verdict; `success` also for `Successful`", _STREAK),
    Field("streak", Kind.NUMBER, "number of reports in a row with this verdict", _STREAK),
    Field("failures", Kind.NUMBER, "failures since the last success, in an event that reports a failure", _STREAK),
    Field("failuresBefore", Kind.NUMBER, "failures that a success ends, possibly 0", _STREAK),
    Field("withoutSuccess", Kind.NUMBER, "milliseconds since the last success, or else the first report", _STREAK),
    Field("withoutSuccessBefore", Kind.NUMBER, "the same at the previous report", _STREAK),
    Field(IS_BREAKING, Kind.BOOLEAN, "whether the change is breaking"),
    Field(IS_ANNOUNCED, Kind.BOOLEAN, "whether change requests announced the change, and all that is breaking in it"),
    Field(CHANGE_REQUEST, Kind.TEXTS, "change requests that the event is about: `CR-12`"),
    Field(OPEN_ANSWERS, Kind.NUMBER, "number of their consumers that had not answered"),
    Field(PART_OF, Kind.TEXT, "id of the event of the whole that the event is part of", _EVENT, is_internal=True),
    Field(REASON, Kind.TEXT, "why the change was made, as its author says", _EVENT),
    Field(STATE_AT_SCHEDULE, Kind.TEXTS, "what is still so of the asset at a time of a schedule", is_internal=True),
    Field(FQN_PATH, Kind.TEXTS, "the FQN and everything above it", _CLOSURE, source_field=FQN),
    Field(TESTED_NAMES, Kind.TEXTS, "the tested table's FQN and every ending of it", _CLOSURE, source_field=TESTED_FQN),
    Field(
        CHANGED_TOGETHER,
        Kind.TEXTS,
        "the names of all changed fields as one text",
        _CLOSURE,
        source_field=FIELD_CHANGED,
    ),
    Field("databaseNames", Kind.TEXTS, "a database's name, plain and full", _CLOSURE, source_field=FQN, depth=2),
    Field("schemaNames", Kind.TEXTS, "a schema's name, plain and full", _CLOSURE, source_field=FQN, depth=3),
)

STORED: dict[str, Field] = {row.name: row for row in _ROWS if not row.source_field}
"""Every field that has a column on Spark, in the order of the columns."""

FIELDS: dict[str, Field] = {name: row for name, row in STORED.items() if not row.is_internal}
"""Every field that conditions can name."""

CLOSURES: dict[str, str] = {row.name: row.source_field for row in _ROWS if row.source_field}
"""The field that each closure is worked out from; functions ask for closures, no condition names them."""

DEPTHS: dict[str, int] = {row.name: row.depth for row in _ROWS if row.depth}
"""The depth of the FQN at which the names in a closure are; combine them with the entity type."""

STREAK_FIELDS = frozenset(row.name for row in _ROWS if row.provenance is Provenance.STREAK)
"""Fields that depend on the reports before; no event carries them."""

NESTED_STATUSES = frozenset({"testCaseStatus", "executionStatus", "pipelineState"})
"""Keys in documents whose values are statuses, so compared without case."""


PLACE = "logOffset"
"""The offset of the event in the log, which is known when it is read; no condition names it."""

TAKEN = "at_"
"""Prefix of sets that hold the texts at a path (``flow/match/extracted_paths.py``); no condition names them."""


TAKEN_NUMBERS = "numbers_at_"
"""Prefix of sets that hold the numbers at a path."""


def is_taken(name: str) -> bool:
    """Return whether ``name`` is the field of the texts at a path."""
    return name.startswith(TAKEN)


def is_set_of_numbers(name: str) -> bool:
    """Return whether ``name`` is the field of the numbers at a path."""
    return name.startswith(TAKEN_NUMBERS)


def kind_of(name: str) -> Kind:
    """Return what the field, closure, set of changes or of texts at a path ``name`` holds."""
    if name == PLACE or is_set_of_numbers(name):
        return Kind.NUMBER
    return Kind.TEXTS if name in CLOSURES or name in CHANGE_SETS or is_taken(name) else STORED[name].kind


def may_repeat(name: str) -> bool:
    """Return whether a value may be twice in the set ``name``."""
    return name in CHANGE_SETS or is_taken(name) or (name in FIELDS and FIELDS[name].may_repeat)


_PLAIN_NAMES = frozenset({"owners", "userName", "mentions", "service"})
"""Fields that hold names without quotes."""


def canonical(name: str, value: Scalar) -> str:
    """Return ``value`` as facts about the field ``name`` write it: a status in lower case, a truth value as a word."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if name == "previousStatus":
        return one_word(str(value))
    return str(value).lower() if kind_of(name) is Kind.STATUS else str(value)


def _name_in(text: str) -> str:
    """Return the name that a text quotes, or the text itself: no name is empty."""
    return unquote(text) or text


def has(name: str, values: tuple[Scalar, ...]) -> Node:
    """Return the node "the field ``name`` equals, or holds, one of ``values``".

    A person, team or service may be named by its FQN, which is in quotes where the name holds a dot.
    """
    plain = (_name_in(value) if name in _PLAIN_NAMES and isinstance(value, str) else value for value in values)
    canonical_values = tuple(sorted({canonical(name, value) for value in plain}))
    return Has(name, canonical_values) if canonical_values else NEVER


def values_of(name: str, logged: LoggedEvent) -> tuple[Scalar, ...]:
    """Return the values that the field, closure or set ``name`` has in an event: none when it is missing."""
    if name in CHANGE_SETS:
        reduced_changes = (reduce_change(change, CHANGE_SETS[name]) for change in logged.derived.get(CHANGES) or ())
        return tuple(dict.fromkeys(one for one in reduced_changes if one is not None))
    if name == CHANGED_TOGETHER:
        return text_of_set(str(path) for path in values_of(FIELD_CHANGED, logged) if path)
    if name in CLOSURES:
        return tuple(inner for one in values_of(CLOSURES[name], logged) if one for inner in _closure_of(name, str(one)))
    if name == PLACE:
        return (float(logged.offset),)
    attribute = STORED[name].attribute
    value = getattr(logged.event, attribute) if attribute else logged.derived.get(name)
    if value is None and name == IS_BREAKING:  # an event of an earlier release
        value = bool(reasons_of_event(logged.event))
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return tuple(value)
    return (float(value),) if STORED[name].kind is Kind.NUMBER else (value,)


def text_of_set(changed: Iterable[str]) -> tuple[str, ...]:
    """Return the names of changed fields as one text, sorted, without the paths below them; none if there are none."""
    names = sorted({path for path in changed if "." not in path})
    return (SEPARATOR.join(names),) if names else ()


def _closure_of(name: str, value: str) -> tuple[str, ...]:
    """Return the members of the closure ``name`` that ``value`` gives."""
    if name in DEPTHS:
        return ancestor(value, DEPTHS[name])
    return prefixes(value) if name == FQN_PATH else suffixes(value)


_OF_STATES = (EventType.SCHEDULED_CHECK, EventType.INCIDENT_REMINDER)
_REPORTS = frozenset({"testCaseResult", "testCaseStatus", "pipelineStatus", SILENCE})
"""The fields by which an event reports something."""


def derive(
    event: ChangeEvent, *, actor_is_bot: bool, about: Document | None = None, last_changed_ms: int | None = None
) -> Document:
    """Return the derived fields of ``event`` as JSON, to be stored with it.

    Fields of the asset are, for an event of a thread, those of the asset it is ``about``. ``last_changed_ms`` is
    the time of the asset's previous change; None if there was none.
    """
    change = event.change_description or ChangeDescription()
    is_thread = event.entity_type == THREAD
    document = (about if is_thread else event.entity) or {}
    tag_names = list(dict.fromkeys(documents.tags(document) if is_thread else _tags(event, change)))
    domains = documents.references(document, "domains", "domain", full=True)
    asset_type = about_type(event) if is_thread else event.entity_type
    test_status, pipeline_status, reported_at_ms = _report_of(event, change)
    return {
        "fieldsAdded": [c.name for c in change.fields_added],
        "fieldsUpdated": [c.name for c in change.fields_updated],
        "fieldsDeleted": [c.name for c in change.fields_deleted],
        "fieldChanged": _closure(event.entity_type, change),
        "tags": tag_names,
        "owners": list(dict.fromkeys(documents.references(document, "owners", "owner", full=False))),
        "domains": list(dict.fromkeys(domains if event.entity is not None else event.domains or ())),
        "tier": next((tag for tag in tag_names if tag.startswith(documents.TIER_PREFIX)), None),
        "service": documents.service(asset_type, event.entity_fully_qualified_name, document),
        "testStatus": test_status,
        "pipelineStatus": pipeline_status,
        REPORTED_AT: reported_at_ms,
        "testSuites": list(dict.fromkeys(documents.references(document, "testSuites", "testSuite", full=True))),
        "isBot": actor_is_bot,
        IS_BREAKING: bool(reasons_of_event(event)),
        **announced_fields(event),
        "unchangedFor": None if last_changed_ms is None else max(0, event.timestamp - last_changed_ms),
        "testedEntityFqn": documents.tested_table(document) if event.entity_type == "testCase" else None,
        "threadType": kind(event) if is_thread else None,
        "mentions": new_mentions(event) if is_thread else [],
        **derived_changes(event),
        **({STATE_AT_SCHEDULE: _states_found(change)} if event.event_type in _OF_STATES else {}),
    }


def _states_found(change: ChangeDescription) -> list[str]:
    """Return what was found at a time of a schedule, as conditions ask for it: without success, by each time asked.

    Of a reminder, return the alerts that remind.
    """
    states: list[str] = []
    for field_change in change.fields_added:
        facts = documents.decode(field_change.new_value)
        if field_change.name == INCIDENT_REMINDER and isinstance(facts, dict):
            states += [f"{alert}|{INCIDENT_REMINDER}" for alert in facts.get("alerts") or ()]
        if field_change.name in ASSET_STATES and isinstance(facts, dict):
            durations = [f":{duration_ms}" for duration_ms in facts.get("asked") or ()] or [""]
            states += [f"{facts.get('schedule')}|{field_change.name}{duration}" for duration in durations]
    return states


def _tags(event: ChangeEvent, change: ChangeDescription) -> Iterator[str]:
    """Yield the tags of the asset, or of what was refused; without a document, those the change says were given."""
    if event.event_type is EventType.POLICY_VIOLATION:
        for field_change in change.fields_added:
            if field_change.name == VIOLATION and isinstance(refused := documents.decode(field_change.new_value), dict):
                yield from documents.texts(refused.get("tags") or ())
        return
    if event.entity is not None:
        yield from documents.tags(event.entity)
        return
    for field_change in (*change.fields_added, *change.fields_updated):
        if field_change.name == "tags" or field_change.name.endswith(".tags"):
            yield from documents.tag_names(documents.decode(field_change.new_value))


def _closure(entity_type: str, change: ChangeDescription) -> list[str]:
    """Return every changed path and every path above one, a member that came or went by its name."""
    row = ENTITY_TYPES.get(entity_type)
    lists = row.members if row else ()
    paths = list(change.paths())
    for moved in (*change.fields_added, *change.fields_deleted):
        if moved.name in lists:
            paths += [_member_path(moved.name, name) for name in _member_names(moved)]
    return list(dict.fromkeys(chain.from_iterable(map(prefixes, paths))))


@lru_cache(maxsize=10_000)
def _member_path(above: str, name: str) -> str:
    return f"{above}.{quote(name)}"


def _member_names(moved: FieldChange) -> list[str]:
    decoded_values = [documents.decode(value) for value in (moved.old_value, moved.new_value) if value]
    return [
        name
        for value in decoded_values
        for member in documents.members(value)
        if isinstance(name := member.get("name"), str) and name
    ]


def _report_of(event: ChangeEvent, change: ChangeDescription) -> tuple[str | None, str | None, int | None]:
    """Return the result of a test, or of a suite, the state of a run, and their time; mostly nothing."""
    if event.event_type is EventType.TEST_SUITE_RUN_COMPLETED:
        return _status(_new_values(change, SUITE_SUMMARY), "status"), None, _reported_at_ms(event, change)
    names = {one.name.partition(".")[0] for one in (*change.fields_updated, *change.fields_added)}
    if _REPORTS.isdisjoint(names) and event.event_type is not EventType.TEST_CASE_FAILURE:
        return None, None, None
    test_status, pipeline_status = _test_status(event, change), _pipeline_status(event, change)
    is_report = test_status is not None or pipeline_status is not None or SILENCE in names
    return test_status, pipeline_status, _reported_at_ms(event, change) if is_report else None


def _test_status(event: ChangeEvent, change: ChangeDescription) -> str | None:
    """Return the result this event reports, not the one the test case happens to have."""
    document = event.entity or {}
    stored = (document.get("testCaseResult"), document.get("testCaseStatus"))
    reported = _new_values(change, "testCaseResult", "testCaseResult.testCaseStatus", "testCaseStatus")
    is_report = reported or event.event_type is EventType.TEST_CASE_FAILURE
    return _status((*reported, *stored), "testCaseStatus") if is_report else None


def _pipeline_status(event: ChangeEvent, change: ChangeDescription) -> str | None:
    """Return the state of the run this event reports."""
    reported = _new_values(change, "pipelineStatus", "pipelineStatus.executionStatus", "pipelineStatus.pipelineState")
    stored = (event.entity or {}).get("pipelineStatus")
    return _status((*reported, stored), "executionStatus", "pipelineState") if reported else None


def _reported_at_ms(event: ChangeEvent, change: ChangeDescription) -> int:
    """Return the time that a reported status, or a silence, refers to; without one, the time of the event."""
    reports = _new_values(change, "testCaseResult", "pipelineStatus", SILENCE, SUITE_SUMMARY)
    moments = (report.get("timestamp") for report in reports if isinstance(report, dict))
    return next((int(at) for at in moments if isinstance(at, int | float)), event.timestamp)


def _new_values(change: ChangeDescription, *names: str) -> tuple[object, ...]:
    field_changes = (*change.fields_updated, *change.fields_added)
    return tuple(documents.decode(one.new_value) for name in names for one in field_changes if one.name == name)


def _status(values: tuple[object, ...], *keys: str) -> str | None:
    """Return the first status in ``values``: a text as it is, an object's by one of ``keys``."""
    statuses = (value.get(key) if isinstance(value, dict) else value for value in values for key in keys)
    return next(documents.texts(statuses), None)


_WORDS = frozenset({"message", "description", "suggestion"})


def kind(event: ChangeEvent) -> str | None:
    """Return what the thread is: a conversation, a task, an announcement."""
    thread_type = (event.entity or {}).get("type")
    return thread_type if isinstance(thread_type, str) else None


def about_type(event: ChangeEvent) -> str:
    """Return the type of the asset that the thread is about; empty when the event does not say."""
    asset = (event.entity or {}).get("entityRef")
    return str(asset.get("type", "")) if isinstance(asset, dict) else ""


def new_mentions(event: ChangeEvent) -> list[str]:
    """Return the names of the people and teams that are mentioned for the first time, in their order."""
    change = event.change_description or ChangeDescription()
    field_changes = (*change.fields_added, *change.fields_updated)
    new = [text for field_change in field_changes for text in _words(field_change, field_change.new_value)]
    old = [text for field_change in field_changes for text in _words(field_change, field_change.old_value)]
    if event.event_type is EventType.THREAD_CREATED:
        new = list(texts_of(event.entity or {}))
    before = set(mentions_in(*old))
    return list(dict.fromkeys(one.name for one in mentions_in(*new) if one not in before))


def _words(change: FieldChange, value: object) -> Iterator[object]:
    if change.name == "posts":
        yield from (post.get("message") for post in documents.members(value))
    elif change.name.rpartition(".")[2] in _WORDS:
        yield value
