"""Semantic changes of an event, such as "tag PII.Sensitive added to column email": object, operation, target.

Paths of field changes are JSON paths; people think in categories. ``CATEGORIES`` is the one table that maps them.
``derived_changes`` is what the log stores for conditions, through ``fields.py``, and both engines read.
Next: ``conditions/fields.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import chain, combinations
from typing import NamedTuple

from tocsin.conditions import documents
from tocsin.conditions.paths import parts, prefixes, unquote
from tocsin.model.change import (
    INCIDENT_REMINDER,
    STILL_FAILING,
    STILL_STALE,
    STILL_WITHOUT_OWNER,
    SUITE_SUMMARY,
    VIOLATION,
    ChangeDescription,
    ChangeEvent,
    EventType,
    FieldChange,
)
from tocsin.model.entity import Document
from tocsin.model.fqn import quote
from tocsin.model.list_identity import REFERENCE_LISTS
from tocsin.model.status import INCIDENT_STATUSES, INGESTION_STATES, RESULT_STATUSES, RUN_STATUSES
from tocsin.model.thread import THREAD

ASSET = "asset"
"""The target of a change that concerns no member: the asset itself."""

SEPARATOR = "\t"
"""Between the parts of a change in a fact; a part that holds it has a space instead."""


ANY_PART = "*"
"""Wildcard for a part in ``matchAnyChange``."""


class ChangeOperation(StrEnum):
    """What was done."""

    ADD = "add"
    REMOVE = "remove"
    MODIFY = "modify"


class EventChange(NamedTuple):
    """One change: what it is about, what was done, to what, and (where it has one) with what."""

    category: str
    operation: ChangeOperation
    target: str
    value: str | None = None


PARTS = EventChange._fields
"""The parts of a change, in the order in which facts and ``matchAnyChange`` name them."""

TAG, TIER, TERM = "tag", "tier", "glossaryTerm"
"""The categories of labels; tiers and terms have no key of their own."""

CATEGORIES: dict[str, tuple[str, ...]] = {
    "schema": (
        *("columns", "children", "fields", "schemaFields", "messageSchema", "requestSchema", "responseSchema"),
        *(
            "dataModel",
            "dataType",
            "dataTypeDisplay",
            "dataLength",
            "arrayDataType",
            "precision",
            "scale",
            "constraint",
        ),
        *("jsonSchema", "schemaDefinition", "schemaType", "schemaText", "tableType", "tableConstraints"),
        *("tablePartition", "partitions", "tasks", "charts", "dashboards", "dataModels", "mlFeatures"),
        *("relatedMetrics", "mlHyperParameters", "storedProcedureCode", "sql", "query", "parent"),
    ),
    "description": ("description",),
    "name": ("name", "displayName", "fullyQualifiedName"),
    TAG: ("tags",),
    "certification": ("certification",),
    "owner": ("owners", "owner", STILL_WITHOUT_OWNER),
    "reviewer": ("reviewers", "experts"),
    "domain": ("domains", "domain"),
    "dataProduct": ("dataProducts", "consumesFrom", "providesTo"),
    "lifecycle": ("deleted", "lifeCycle", "lifecycleStage", "entityStatus", "retentionPeriod", "deprecated", "entity"),
    "quality": (
        *("testCaseResult", "testCaseStatus", "incidentStatus", "testSuites", "tests", "testDefinition", "profile"),
        *("parameterValues", "customMetrics", "tableProfilerConfig", SUITE_SUMMARY, STILL_FAILING, STILL_STALE),
        INCIDENT_REMINDER,
    ),
    "run": ("pipelineStatus", "pipelineStatuses"),
    "usage": ("usageSummary", "joins", "queries", "queryUsedIn"),
    "follower": ("followers",),
    "vote": ("votes",),
    "lineage": ("lineage",),
    "customProperty": ("extension", "customProperties"),
    "membership": ("users", "teams", "parents", "defaultRoles"),
    "access": ("roles", "policies", "rules", "isAdmin", VIOLATION),
    "connection": ("connection", "serviceType", "service"),
    "relatedAlert": ("triggers", "dependsOn"),
}
"""Which fields each category is about: keys of documents, the first one below the target."""

TALK, OTHER = "conversation", "other"
"""Categories without a key: posts in threads, and the rest."""

KNOWN_CATEGORIES = (*CATEGORIES, TIER, TERM, TALK, OTHER)

_CATEGORY_OF = {key: category for category, keys in CATEGORIES.items() for key in keys}
_LABELS = frozenset({"tags", "certification"})
_MEMBER_LISTS = frozenset({"columns", "children", "fields", "schemaFields", "tasks", "mlFeatures"})
_AROUND_LISTS = frozenset({"messageSchema", "requestSchema", "responseSchema", "dataModel"})
TARGETS = frozenset({ASSET, *_MEMBER_LISTS, *_AROUND_LISTS})
"""What the target of a change begins with."""

_NAMED = frozenset({"owner", "reviewer", "follower", "membership", "access"})
"""Categories whose references are called by their plain names; those of all others by their FQNs."""

_REFERENCES = frozenset({*REFERENCE_LISTS, "domain"})
_STATUSES = {
    "testCaseResult": ("testCaseStatus",),
    "testCaseStatus": (),
    "pipelineStatus": ("executionStatus", "pipelineState"),
    "incidentStatus": ("testCaseResolutionStatusType",),
    SUITE_SUMMARY: ("status",),
}
"""Keys of reports, and where in a report its status is: of a run by whether a pipeline or an ingestion pipeline ran."""
_WHOLE = {
    EventType.ENTITY_CREATED: (ChangeOperation.ADD, "created"),
    EventType.ENTITY_RESTORED: (ChangeOperation.ADD, "restored"),
    EventType.ENTITY_SOFT_DELETED: (ChangeOperation.REMOVE, "softDeleted"),
    EventType.ENTITY_DELETED: (ChangeOperation.REMOVE, "deleted"),
}
_TALK = {EventType.THREAD_CREATED: ChangeOperation.ADD, EventType.ENTITY_DELETED: ChangeOperation.REMOVE}
_WHOLE_FIELDS = frozenset({"deleted", "entity"})
_REPORTED = {
    EventType.TEST_CASE_FAILURE: "quality",
    EventType.FRESHNESS_VIOLATION: "quality",
    EventType.PROFILE_ANOMALY: "quality",
    EventType.SLA_VIOLATION: "quality",
    EventType.USAGE_DROP: "usage",
    EventType.QUERY_PATTERN_CHANGE: "usage",
}

CLOSED_VALUES: dict[str, tuple[tuple[str, ...], bool]] = {
    "lifecycle": (tuple(fate for _, fate in _WHOLE.values()), False),
    "run": ((*RUN_STATUSES, *INGESTION_STATES), False),
    "quality": (
        (
            *RESULT_STATUSES,
            *INCIDENT_STATUSES,
            *(kind.value for kind, category in _REPORTED.items() if category == "quality"),
        ),
        True,
    ),
    "usage": (tuple(kind.value for kind, category in _REPORTED.items() if category == "usage"), True),
}
"""The values that changes of a category have, and whether some have others, such as the names of test suites."""


def changes_of(event: ChangeEvent) -> list[EventChange]:
    """Return what the changes of ``event`` mean, each once: the whole asset's fate, then added, updated, deleted."""
    description = event.change_description or ChangeDescription()
    is_talk, told_already = event.entity_type == THREAD, _WHOLE_FIELDS if event.event_type in _WHOLE else ()
    event_changes = list(_changes_by_type(event))
    for operation, fields in (
        (ChangeOperation.ADD, description.fields_added),
        (ChangeOperation.MODIFY, description.fields_updated),
        (ChangeOperation.REMOVE, description.fields_deleted),
    ):
        for field_change in fields:
            if field_change.name not in told_already:
                event_changes += (
                    [EventChange(TALK, operation, ASSET)] if is_talk else _meanings_of(operation, field_change)
                )
    return _tiers_moved(list(dict.fromkeys(event_changes)))


def derived_changes(event: ChangeEvent) -> Document:
    """Return the derived fields about changes; a target counts with all its ancestors."""
    values = _list_changes(tuple(changes_of(event)))
    return dict(zip(_CHANGE_FIELDS, map(list, values), strict=True))


@lru_cache(maxsize=1_000)
def _list_changes(changes: tuple[EventChange, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the values of ``_CHANGE_FIELDS``; many writes change the same."""
    listed = zip(*map(_list_change, changes), strict=True)
    categories, operations, targets, written = tuple(listed) or ((),) * 4
    values = (categories, operations, chain.from_iterable(targets), chain.from_iterable(written))
    return tuple(tuple(dict.fromkeys(one)) for one in values)


CHANGES = "changes"
"""The derived field that holds each change as one text: its parts in order, with ``SEPARATOR`` between them."""

_CHANGE_FIELDS = ("changeCategory", "changeOperation", "changeTarget", CHANGES)

CATEGORY, _TARGET, VALUE = (PARTS.index(part) for part in ("category", "target", "value"))
_FIELDS = {(0,): "changeCategory", (1,): "changeOperation", (2,): "changeTarget"}
_CHOICES = [choice for size in range(len(PARTS), 0, -1) for choice in combinations(range(len(PARTS)), size)]

CHANGE_SETS: dict[str, tuple[int, ...]] = {
    f"{CHANGES}:{'+'.join(PARTS[at] for at in choice)}": choice for choice in _CHOICES if choice not in _FIELDS
}
"""Sets that ``matchAnyChange`` asks for and no condition names: the changes of an event reduced to some of their parts,
which are identified by their indexes in ``PARTS``. Those of more parts, so of rarer values, come first."""

_SETS = _FIELDS | {places: name for name, places in CHANGE_SETS.items()}


def set_of(places: Iterable[int]) -> str:
    """Return the name of the field or set that holds the changes reduced to the parts at ``places``."""
    return _SETS[tuple(sorted(places))]


def parts_of(name: str) -> tuple[int, ...]:
    """Return the places of the parts that values of the field or set ``name`` hold; none if it holds no changes."""
    return next((places for places, known in _SETS.items() if known == name), ())


def reduce_change(change: str, places: tuple[int, ...]) -> str | None:
    """Return a stored change reduced to some of its parts; None when it lacks one of them."""
    parts = change.split(SEPARATOR)
    chosen_parts = [parts[at] if at < len(parts) else "" for at in places]
    return SEPARATOR.join(chosen_parts) if all(chosen_parts) else None


def target_asked(name: str, value: str) -> str | None:
    """Return the target of the field or set ``name``; None where it has none."""
    places = parts_of(name)
    return value.split(SEPARATOR)[places.index(_TARGET)] if _TARGET in places else None


def values_named(categories: Sequence[str], values: Sequence[str]) -> tuple[str, ...]:
    """Return values of changes of these categories, of any where there are none, as facts have them.

    A person or team may be named by an FQN, which is in quotes where the name holds a dot.
    """
    plain_names = [unquote(value) or value for value in values]
    if categories and _NAMED.issuperset(categories):
        return tuple(dict.fromkeys(plain_names))
    is_of_people = not categories or not _NAMED.isdisjoint(categories)
    return tuple(dict.fromkeys((*values, *plain_names))) if is_of_people else tuple(values)


def plain(part: str) -> str:
    """Return one part of a change as facts write it."""
    return part.replace(SEPARATOR, " ")


@lru_cache(maxsize=10_000)
def _list_change(change: EventChange) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    """Return the category and operation of a change, and its targets and texts: its own and those of all above it."""
    targets, value = prefixes(change.target), plain(change.value or "")
    category_and_operation = f"{change.category}{SEPARATOR}{change.operation}"
    written = (f"{category_and_operation}{SEPARATOR}{plain(target)}{SEPARATOR}{value}" for target in targets)
    return change.category, change.operation.value, targets, tuple(written)


def _changes_by_type(event: ChangeEvent) -> Iterator[EventChange]:
    """Yield what the event says by its type alone."""
    if event.entity_type == THREAD:
        if event.event_type in _TALK:
            yield EventChange(TALK, _TALK[event.event_type], ASSET)
        return
    if event.event_type in _WHOLE:
        operation, fate = _WHOLE[event.event_type]
        yield EventChange("lifecycle", operation, ASSET, fate)
    if event.event_type in _REPORTED:
        yield EventChange(_REPORTED[event.event_type], ChangeOperation.ADD, ASSET, event.event_type.value)


def _meanings_of(operation: ChangeOperation, change: FieldChange) -> Iterable[EventChange]:
    """Return what one field change means."""
    plainly = _meant_plainly(operation, change.name)
    return _meant_by_value(operation, change) if plainly is None else plainly


@lru_cache(maxsize=10_000)
def _meant_plainly(operation: ChangeOperation, name: str) -> tuple[EventChange] | None:
    """Return the meaning of a change of this path if it does not depend on the value; else None."""
    above, inner_path = _cut(name)
    target, key = _target(above), unquote(inner_path[0]) if inner_path else ""
    category = _category(target, key)
    if (
        key in _LABELS
        or key in _STATUSES
        or _names_others(category, key)
        or (operation is not ChangeOperation.MODIFY and (key in _MEMBER_LISTS or key in _AROUND_LISTS))
    ):
        return None
    value = next(_values(category, key, inner_path, None), None)
    is_part_of_member = category == "schema" and target != ASSET and bool(key)
    return (EventChange(category, ChangeOperation.MODIFY if is_part_of_member else operation, target, value),)


def _meant_by_value(operation: ChangeOperation, change: FieldChange) -> Iterator[EventChange]:
    above, inner_path = _cut(change.name)
    target, key = _target(above), unquote(inner_path[0]) if inner_path else ""
    value = documents.decode(change.old_value if operation is ChangeOperation.REMOVE else change.new_value)
    if operation is not ChangeOperation.MODIFY and len(inner_path) == 1 and key in _MEMBER_LISTS:
        yield from _members(operation, ".".join(above), key, value)
    elif key in _LABELS:
        yield from (EventChange(kind, operation, target, fqn) for kind, fqn in _labels(inner_path, value))
    else:
        category = _category(target, key)
        values = list(_values(category, key, inner_path, value))
        yield from (EventChange(category, operation, target, named) for named in values or (None,))
        if operation is not ChangeOperation.MODIFY and key in _AROUND_LISTS and isinstance(value, dict):
            for inner in sorted(_MEMBER_LISTS & value.keys()):
                yield from _members(operation, key, inner, value[inner])


@lru_cache(maxsize=10_000)
def path_meaning(path: str) -> tuple[str, str]:
    """Return the category of the change of a path, and the key of the document or member that changed."""
    above, inner_path = _cut(path)
    key = unquote(inner_path[0]) if inner_path else ""
    return _category(_target(above), key), key


def _target(above: tuple[str, ...]) -> str:
    return ".".join(above) if len(above) > 1 else ASSET


def _category(target: str, key: str) -> str:
    return _CATEGORY_OF.get(key) or (OTHER if target == ASSET else "schema")


@lru_cache(maxsize=10_000)
def _cut(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the path of the innermost member that a changed path goes through, and what is left of it."""
    steps = tuple(parts(name))
    at = int(len(steps) > 1 and steps[0] in _AROUND_LISTS and steps[1] in _MEMBER_LISTS)
    while at + 1 < len(steps) and steps[at] in _MEMBER_LISTS:
        at += 2
    return steps[:at], steps[at:]


def _members(operation: ChangeOperation, above: str, key: str, value: object) -> Iterator[EventChange]:
    """Yield the added or removed members, with their labels and their own members."""
    for member in documents.members(value):
        name = member.get("name")
        moved = _membership_change(operation, above, key, name if isinstance(name, str) else "")
        yield moved
        if member.get("tags"):
            labels = _labels(("tags",), member["tags"])
            yield from (EventChange(kind, operation, moved.target, fqn) for kind, fqn in labels)
        if not _MEMBER_LISTS.isdisjoint(member):
            for inner in sorted(_MEMBER_LISTS & member.keys()):
                yield from _members(operation, moved.target, inner, member[inner])


@lru_cache(maxsize=10_000)
def _membership_change(operation: ChangeOperation, above: str, key: str, name: str) -> EventChange:
    """Return that the member of the list ``key`` below ``above`` came or went. Many tables have a column ``id``."""
    return EventChange("schema", operation, ".".join(filter(None, (above, key, quote(name)))))


def _labels(inner_path: Sequence[str], value: object) -> list[tuple[str, str | None]]:
    """Return category and FQN of the labels in ``value``; of the certification's, or of the one the path names."""
    if inner_path[0] == "certification":
        label = value.get("tagLabel") if isinstance(value, dict) else None
        return [("certification", next(documents.tag_names(label), None))]
    if len(inner_path) > 1 and not documents.members(value):
        value = {"tagFQN": unquote(".".join(inner_path[1:]))}
    labels = [one for one in documents.members(value) if isinstance(one.get("tagFQN"), str) and one["tagFQN"]]
    return [(kind_of(label), label["tagFQN"]) for label in labels] or [(TAG, None)]


def kind_of(label: Document) -> str:
    """Return the category of a label: a tier, a glossary's term, or a tag."""
    if label["tagFQN"].startswith(documents.TIER_PREFIX):
        return TIER
    return TERM if label.get("source") == "Glossary" else TAG


def _values(category: str, key: str, inner_path: Sequence[str], value: object) -> Iterator[str]:
    """Yield by what people call that which came, went or changed."""
    if _names_others(category, key):
        yield from documents.references({key: value}, key, full=category not in _NAMED)
    elif category == "customProperty" and len(inner_path) > 1:
        yield unquote(inner_path[1])
    elif key in _STATUSES:
        statuses = map(value.get, _STATUSES[key]) if isinstance(value, dict) else (value,)
        yield from documents.texts(statuses)
    elif category == OTHER:
        yield key


def _names_others(category: str, key: str) -> bool:
    """Return whether ``key`` holds references, or what is called by name as they are."""
    return category in _NAMED or key in _REFERENCES


def _tiers_moved(changes: list[EventChange]) -> list[EventChange]:
    """Return ``changes`` with a tier that went and one that came, of the same target, as one that was modified."""
    of_tier = [change for change in changes if change.category == TIER]
    if len(of_tier) < 2:
        return changes
    both = {a.target for a in of_tier for b in of_tier if a.target == b.target and a.operation != b.operation}
    moved = []
    for change in changes:
        if change.category != TIER or change.target not in both:
            moved.append(change)
        elif change.operation is ChangeOperation.ADD:
            moved.append(change._replace(operation=ChangeOperation.MODIFY))
    return moved
