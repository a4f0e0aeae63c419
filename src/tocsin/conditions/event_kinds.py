"""Kinds of change of an event, from what the log keeps of it: its type and its derived fields.

Each category of its changes has at least one kind, so that a preference for the category covers these kinds.
``docs/change-kinds.md`` shows the tables. Next: ``flow/schedule/preferences.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tocsin.conditions.breaking import IS_BREAKING
from tocsin.conditions.changes import CATEGORIES, CHANGES, SEPARATOR, TAG, TALK, path_meaning
from tocsin.model.change import (
    INCIDENT_REMINDER,
    OF_ALERTS,
    OF_CHANGE_REQUESTS,
    STILL_FAILING,
    STILL_STALE,
    SUITE_SUMMARY,
    EventType,
)
from tocsin.model.change_kinds import BOT, BREAKING, EventKind
from tocsin.model.entity import Document
from tocsin.model.status import NO_FAILURES, SUCCESS, one_word

BY_EVENT_TYPE: Mapping[str, str] = {
    EventType.ENTITY_CREATED: "creation",
    EventType.TEST_CASE_FAILURE: "testFailure",
    EventType.FRESHNESS_VIOLATION: "freshness",
    EventType.PROFILE_ANOMALY: "profileAnomaly",
    EventType.SLA_VIOLATION: "sla",
    EventType.POLICY_VIOLATION: "policyViolation",
    EventType.USAGE_DROP: "usageDrop",
    EventType.QUERY_PATTERN_CHANGE: "queryPattern",
    EventType.ALERT_INCIDENT_UPDATED: "incident",
    EventType.INCIDENT_REMINDER: "incident",
    EventType.LOGICAL_TEST_CASE_ADDED: "test",
    **dict.fromkeys(OF_CHANGE_REQUESTS, "changeRequest"),
    **dict.fromkeys(OF_ALERTS, "ownAlert"),
}
"""Kinds that events have by their type, whatever their changes are."""

BY_FIELD: Mapping[str, str] = {
    **dict.fromkeys(("constraint", "tableConstraints"), "constraint"),
    **dict.fromkeys(("incidentStatus", INCIDENT_REMINDER), "incident"),
    "profile": "newData",
    STILL_FAILING: "testFailure",
    STILL_STALE: "freshness",
}
"""Kinds of changed fields where these are a part of their category."""

BY_FATE: Mapping[str, str] = {
    "created": "creation",
    "softDeleted": "softDeletion",
    "restored": "restoration",
    "deleted": "deletion",
}
"""Kinds of what became of the asset as a whole, by the value of the change."""

REST: Mapping[str, str] = {"schema": "columns", "lifecycle": "deprecation", "quality": "test", TALK: "discussion"}
"""The kind of what is left of a category; every other category is a kind of its own name."""

BY_THREAD: Mapping[str, str] = {"Task": "task", "Announcement": "announcement"}
"""Kinds of events of threads, by the type of the thread."""

CLASSIFICATIONS = ("PII.", "PersonalData.")
"""How tags begin that classify data."""

_FAILURES = {"quality": "testFailure", "run": "runFailure"}
_RECOVERY, _MENTION = "recovery", "mention"
_REPORTED = frozenset({"testCaseResult", "testCaseStatus", SUITE_SUMMARY, "pipelineStatus"})
_PATHS = ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")
_BY_PATH = frozenset({"schema", "quality", "run"})


def kinds_of(event_type: str, derived: Document) -> tuple[EventKind, ...]:
    """Return the kinds of an event, each once, those that cross first."""
    by_type = BY_EVENT_TYPE.get(event_type)
    categories: list[str] = derived.get("changeCategory") or []
    plain = (
        EventKind(kind, category)
        for category in categories
        for kind in ((by_type,) if by_type else _kinds_in(category, derived))
    )
    crossing = [EventKind(BREAKING, "")] if derived.get(IS_BREAKING) else []
    crossing += [EventKind(BOT, "")] if derived.get("isBot") else []
    return tuple(dict.fromkeys((*crossing, *plain)))


def _kinds_in(category: str, derived: Document) -> Iterable[str]:
    if category == TALK:
        return _of_thread(derived)
    if category in _BY_PATH:
        return list(_of_paths(category, derived)) or [remaining_kind(category)]
    if category in ("lifecycle", TAG):
        return [_of_value(category, value) for value in _values(category, derived)] or [remaining_kind(category)]
    return [remaining_kind(category)]


def remaining_kind(category: str) -> str:
    """Return the kind of what is left of a category when its other kinds are taken out."""
    return REST.get(category, category)


def _of_thread(derived: Document) -> Iterator[str]:
    yield BY_THREAD.get(str(derived.get("threadType")), remaining_kind(TALK))
    if derived.get("mentions"):
        yield _MENTION


def _of_paths(category: str, derived: Document) -> Iterator[str]:
    """Yield the kinds of the changed paths that are of a category."""
    for path in (path for name in _PATHS for path in derived.get(name) or ()):
        path_category, key = path_meaning(path)
        if path_category == category:
            yield _of_report(category, derived) if key in _REPORTED else BY_FIELD.get(key, remaining_kind(category))


def _of_report(category: str, derived: Document) -> str:
    status = derived.get("testStatus" if category == "quality" else "pipelineStatus")
    word = one_word(str(status or ""))
    if word == SUCCESS:
        return _RECOVERY
    return remaining_kind(category) if word in NO_FAILURES else _FAILURES[category]


def _values(category: str, derived: Document) -> Iterator[str]:
    """Yield the values of the changes of a category, empty for a change without one."""
    for change in derived.get(CHANGES) or ():
        change_category, _, _, value = f"{change}{SEPARATOR * 3}".split(SEPARATOR)[:4]
        if change_category == category:
            yield value


def _of_value(category: str, value: str) -> str:
    if category == TAG:
        return "classification" if value.startswith(CLASSIFICATIONS) else TAG
    return BY_FATE.get(value, remaining_kind(category))


def kinds_in_category(category: str) -> tuple[str, ...]:
    """Return the kinds that events may have by changes of a category, as a page lists them."""
    of_fields = [kind for field, kind in BY_FIELD.items() if field in CATEGORIES.get(category, ())]
    by_category: dict[str, Iterable[str]] = {
        "lifecycle": BY_FATE.values(),
        TAG: ("classification",),
        TALK: (*BY_THREAD.values(), _MENTION),
        "run": (_FAILURES["run"], _RECOVERY),
        "quality": (_FAILURES["quality"], _RECOVERY),
    }
    kinds = (remaining_kind(category), *by_category.get(category, ()), *of_fields)
    return tuple(dict.fromkeys(kinds))
