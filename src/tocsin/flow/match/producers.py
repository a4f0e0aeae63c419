"""Tables of the event types and fields that only some resources have.

Next: ``flow/match/remarks.py`` warns of conditions that ask others for them.
"""

from __future__ import annotations

from collections.abc import Collection

from tocsin.conditions.fields import STREAK_FIELDS, TESTED_FQN, TESTED_NAMES, has
from tocsin.conditions.nodes import Has, Leaf, Node
from tocsin.conditions.test_results import reads
from tocsin.logic import NEVER, replaced
from tocsin.model.change import REPORTED_AT, EventType
from tocsin.model.subscription import ALL_RESOURCES
from tocsin.model.thread import RESOURCES, THREAD

_ALERT = ("eventsubscription",)
_THREADS = (THREAD, *RESOURCES)
_TASKS = (THREAD, "task")
_TESTS = ("testCase", "table")
_RUNS = ("pipeline", "ingestionPipeline")

PRODUCERS: dict[str, tuple[str, ...]] = {
    EventType.THREAD_CREATED: _THREADS,
    EventType.THREAD_UPDATED: _THREADS,
    EventType.POST_CREATED: _THREADS,
    EventType.POST_UPDATED: _THREADS,
    EventType.TASK_RESOLVED: _TASKS,
    EventType.TASK_CLOSED: _TASKS,
    EventType.LOGICAL_TEST_CASE_ADDED: ("testSuite",),
    EventType.USER_LOGIN: ("user",),
    EventType.USER_LOGOUT: ("user",),
    EventType.POLICY_VIOLATION: ("policy",),
    EventType.TEST_CASE_FAILURE: _TESTS,
    EventType.SLA_VIOLATION: (*_TESTS, *_RUNS),
    EventType.AUDIT_FINDING: _ALERT,
    EventType.DESTINATION_FAILING: _ALERT,
    EventType.DESTINATION_STOPPED: _ALERT,
    EventType.ALERT_NARROWED: _ALERT,
    **dict.fromkeys(
        (
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
"""Resources of the events of a type, those of tables by their tests included; types that any resource has are not here.

Those without a resource exist in OpenMetadata only.
"""

_FIELDS: tuple[tuple[frozenset[str], tuple[str, ...]], ...] = (
    (frozenset({"testStatus", "testSuites", TESTED_FQN, TESTED_NAMES}), _TESTS),
    (frozenset({"pipelineStatus"}), _RUNS),
    (STREAK_FIELDS | {REPORTED_AT}, (*_TESTS, *_RUNS)),
    (frozenset({"threadType", "mentions"}), _THREADS),
)
"""Fields that only events about these resources have."""


def possible(node: Node, resources: Collection[str]) -> Node:
    """Return ``node`` simplified for events about these resources: whatever none of them has is missing."""
    missing = frozenset().union(*(fields for fields, of in _FIELDS if set(of).isdisjoint(resources)))

    def rest(leaf: Leaf) -> Node:
        match leaf:
            case Has(field="eventType", values=values):
                return has(
                    "eventType", tuple(one for one in values if any(produces(resource, one) for resource in resources))
                )
            case _:
                return NEVER if reads(leaf, missing) else leaf

    return replaced(node, rest)


def produces(resource: str, event_type: str) -> bool:
    """Return whether events about a resource can have a type; ``all`` has whatever any resource has."""
    producers = PRODUCERS.get(event_type)
    return producers is None or resource in producers or (resource == ALL_RESOURCES and bool(producers))
