"""Table of the event types that only some resources produce, or none.

Next: ``flow/match/remarks.py`` warns of conditions that wait for others.
"""

from __future__ import annotations

from tocsin.model.change import EventType
from tocsin.model.thread import RESOURCES, THREAD

_ALERT = ("eventsubscription",)
_THREADS = (THREAD, *RESOURCES)
_TASKS = (THREAD, "task")
_TESTS = ("testCase", "table")

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
    EventType.SLA_VIOLATION: (*_TESTS, "pipeline", "ingestionPipeline"),
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
