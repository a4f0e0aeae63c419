"""Tables of the event types and fields that events about a resource can have.

Next: ``flow/match/remarks.py`` warns of conditions that ask for others, ``alerts/capabilities.py`` lists the
types of a selection.
"""

from __future__ import annotations

from collections.abc import Collection

from tocsin.conditions.changes import CATEGORIES, CATEGORY, OTHER, SEPARATOR, TAG, TALK, TERM, TIER, parts_of
from tocsin.conditions.documents import has_service
from tocsin.conditions.fields import STREAK_FIELDS, TESTED_FQN, TESTED_NAMES, has
from tocsin.conditions.nodes import Has, Leaf, Node
from tocsin.conditions.test_results import reads
from tocsin.logic import NEVER, replace_leaves
from tocsin.model.change import (
    OF_CHANGE_REQUESTS,
    OWN_FIELDS,
    REPORTED_AT,
    STATE_AT_SCHEDULE,
    STILL_WITHOUT_OWNER,
    EventType,
)
from tocsin.model.entity_type import CHANGE_REQUESTS
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.subscription import ALL_RESOURCES
from tocsin.model.thread import RESOURCES, THREAD, THREAD_KEYS

_ALERT = ("eventsubscription",)
_THREADS = (THREAD, *RESOURCES)
_TASKS = (THREAD, "task")
_TESTS = ("testCase", "table")
_SUITES = ("testSuite",)
_RUNS = ("pipeline", "ingestionPipeline")
_REFUSED = ("policy", *_THREADS)
"""Resources whose events have the labels of something else: of what a policy refused, of what a thread is about."""

_DELETED_SOFTLY = tuple(name for name, row in ENTITY_TYPES.items() if "deleted" in row.keys)
"""Types of entity that a deletion leaves in place; all others are deleted for good."""

_OWNED = tuple(name for name, row in ENTITY_TYPES.items() if "owners" in row.keys)
"""Types of entity that may have owners."""

PRODUCERS: dict[str, tuple[str, ...]] = {
    EventType.ENTITY_CREATED: tuple(ENTITY_TYPES),
    EventType.ENTITY_UPDATED: tuple(ENTITY_TYPES),
    EventType.ENTITY_SOFT_DELETED: _DELETED_SOFTLY,
    EventType.ENTITY_RESTORED: _DELETED_SOFTLY,
    EventType.ENTITY_DELETED: (*ENTITY_TYPES, *_THREADS),
    EventType.THREAD_CREATED: _THREADS,
    EventType.THREAD_UPDATED: _THREADS,
    EventType.POST_CREATED: _THREADS,
    EventType.POST_UPDATED: _THREADS,
    EventType.TASK_RESOLVED: _TASKS,
    EventType.TASK_CLOSED: _TASKS,
    EventType.LOGICAL_TEST_CASE_ADDED: _SUITES,
    EventType.USER_LOGIN: ("user",),
    EventType.USER_LOGOUT: ("user",),
    EventType.POLICY_VIOLATION: ("policy",),
    EventType.TEST_CASE_FAILURE: _TESTS,
    EventType.SLA_VIOLATION: (*_TESTS, *_RUNS),
    EventType.ALERT_INCIDENT_UPDATED: (*_TESTS, *_RUNS),
    **dict.fromkeys(OF_CHANGE_REQUESTS, tuple(ENTITY_TYPES)),
    EventType.TEST_SUITE_RUN_COMPLETED: _SUITES,
    EventType.RETENTION_APPLIED: ("team",),
    EventType.SCHEDULED_CHECK: (*_OWNED, *_TESTS, *_RUNS),
    EventType.INCIDENT_REMINDER: (*_TESTS, *_RUNS),
    EventType.AUDIT_FINDING: _ALERT,
    EventType.DESTINATION_FAILING: _ALERT,
    EventType.DESTINATION_STOPPED: _ALERT,
    EventType.ALERT_NARROWED: _ALERT,
    EventType.ALERT_EXPIRING: _ALERT,
    EventType.ALERT_EXPIRED: _ALERT,
    EventType.LAG_EXCEEDED: _ALERT,
    EventType.LAG_RECOVERED: _ALERT,
    **dict.fromkeys(
        (
            EventType.FRESHNESS_VIOLATION,
            EventType.PROFILE_ANOMALY,
            EventType.USAGE_DROP,
            EventType.QUERY_PATTERN_CHANGE,
            EventType.ENTITY_FIELDS_CHANGED,
            EventType.ENTITY_NO_CHANGE,
            EventType.SUGGESTION_CREATED,
            EventType.SUGGESTION_UPDATED,
            EventType.SUGGESTION_ACCEPTED,
            EventType.SUGGESTION_REJECTED,
            EventType.SUGGESTION_DELETED,
        ),
        (),
    ),
}
"""Resources of the events of each type, those of tables by their tests included; nothing writes those without one."""

_FIELDS: tuple[tuple[frozenset[str], tuple[str, ...]], ...] = (
    (frozenset({"testStatus", "testSuites", TESTED_FQN, TESTED_NAMES}), _TESTS),
    (frozenset({"pipelineStatus"}), _RUNS),
    (STREAK_FIELDS | {REPORTED_AT}, (*_TESTS, *_RUNS)),
    (frozenset({"threadType", "mentions"}), _THREADS),
    (frozenset({"owners"}), (*_OWNED, *_THREADS)),
    (frozenset({"service"}), (*filter(has_service, ENTITY_TYPES), *_THREADS)),
    (frozenset({"tags", "tier"}), (*(name for name, row in ENTITY_TYPES.items() if "tags" in row.keys), *_REFUSED)),
    (frozenset({"domains"}), (*(name for name, row in ENTITY_TYPES.items() if "domains" in row.keys), *_THREADS)),
)
"""Fields that only events about these resources have; threads have those of their assets."""

_OF_SUITE_RUNS = STREAK_FIELDS | {REPORTED_AT, "testStatus"}
"""Fields that events about test suites have as well, if they are of the type ``testSuiteRunCompleted``."""

CHANGED = frozenset({"fieldChanged", "fieldsAdded", "fieldsUpdated", "fieldsDeleted"})
"""Fields of conditions that hold the paths that an event changes."""
_KEYS = {name: (row.keys | row.separate_keys) - {CHANGE_REQUESTS} for name, row in ENTITY_TYPES.items()}
_KEYS["table"] |= _KEYS["testCase"]
_BESIDE = frozenset(
    {"customMetrics", "followers", "joins", "pipelineStatus", "profile", "summary", "tests", "usageSummary", "votes"}
)
"""Changes beside those of the document: routes of their own make them."""
_OF_SOME = frozenset().union(*_KEYS.values()) - _BESIDE
"""Keys of documents, which no event about an entity of a type without them changes."""

CHANGEABLE = frozenset().union(*_KEYS.values(), _BESIDE, THREAD_KEYS, OWN_FIELDS)
"""Keys of documents, of what is kept beside them, and of Tocsin's own events, that some event changes."""

_ANYWHERE = frozenset({"lifecycle"})
"""Categories of changes that an event has by its type."""

_CATEGORY_KEYS = {
    category: frozenset(keys) & _OF_SOME
    for category, keys in (CATEGORIES | {TIER: CATEGORIES[TAG], TERM: CATEGORIES[TAG]}).items()
    if category not in _ANYWHERE and _BESIDE.isdisjoint(keys)
}
"""Keys of documents that changes of a category begin with; without those that routes of their own change."""


def simplify_for(node: Node, resources: Collection[str], *, unnamed: Collection[str] = ()) -> Node:
    """Return ``node`` simplified for events about these resources: whatever none of them has is missing.

    Events of the types ``unnamed`` do not count.
    """
    missing_fields = frozenset().union(
        *(fields for fields, of in _FIELDS if {ALL_RESOURCES, *of}.isdisjoint(resources))
    )
    if not set(_SUITES).isdisjoint(resources) and EventType.TEST_SUITE_RUN_COMPLETED not in unnamed:
        missing_fields -= _OF_SUITE_RUNS

    def producible_part(leaf: Leaf) -> Node:
        match leaf:
            case Has(field="eventType", values=values):
                return has(
                    "eventType",
                    tuple(one for one in values if any(can_produce(resource, one) for resource in resources)),
                )
            case Has(field=field, values=values) if field == STATE_AT_SCHEDULE:
                return has(field, tuple(one for one in values if _may_be_found(one, resources)))
            case Has(field=field, values=values) if field in CHANGED:
                return has(field, tuple(one for one in values if _is_changed(one, resources)))
            case Has(field=field, values=values) if CATEGORY in (places := parts_of(field)):
                at = places.index(CATEGORY)
                return has(field, tuple(one for one in values if _has_category(one.split(SEPARATOR)[at], resources)))
            case _:
                return NEVER if reads(leaf, missing_fields) else leaf

    return replace_leaves(node, producible_part)


def _may_be_found(state: str, resources: Collection[str]) -> bool:
    """Return whether a check may find a state of one of these resources."""
    concerned = _OWNED if state.endswith(STILL_WITHOUT_OWNER) else (*_TESTS, *_RUNS)
    return not {ALL_RESOURCES, *concerned}.isdisjoint(resources)


def _is_changed(path: str, resources: Collection[str]) -> bool:
    """Return whether an event about one of these resources may change a path."""
    key = path.partition(".")[0]
    return key not in _OF_SOME or any(key in _KEYS.get(resource, _OF_SOME) for resource in resources)


def _has_category(category: str, resources: Collection[str]) -> bool:
    """Return whether a change in an event about one of these resources may be of a category."""
    if ALL_RESOURCES in resources or category == OTHER:
        return True
    if category == TALK or set(resources) <= set(_THREADS):
        return category == TALK and not set(resources).isdisjoint(_THREADS)
    keys = _CATEGORY_KEYS.get(category, frozenset())
    return not keys or any(not keys.isdisjoint(_KEYS.get(resource, ())) for resource in resources)


def can_produce(resource: str, event_type: str) -> bool:
    """Return whether events about a resource can have a type; ``all`` has whatever any resource has."""
    producers = PRODUCERS.get(event_type)
    return producers is None or resource in producers or (resource == ALL_RESOURCES and bool(producers))
