"""Assignees of test cases' own incidents, which no alert watches, each for one event alone: at its place in the log.

Those of incidents that alerts watch: ``store/catalogue/alerts/incidents.py``. Next: ``store/recipients/directory.py``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, select

from tocsin.flow.resolve.directory import Principal
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.entity import Document
from tocsin.model.notification import ReasonKind
from tocsin.store.database.documents import from_text
from tocsin.store.database.keys import is_one_of, rows_by_key
from tocsin.store.database.observation_tables import incident_status
from tocsin.store.database.tables import change_event
from tocsin.store.eventlog.log import events_at

_STEP, _EVENT = incident_status.c, change_event.c
_FIELD = "incidentStatus"


class _Assignment(NamedTuple):
    """Time of the step that assigned an incident, and to whom."""

    at_ms: int
    assignee_id: str
    assignee_type: str


def case_assignees_at(connection: Connection, entity_ids: Collection[str], from_offset: int) -> list[Principal]:
    """Return who was assigned to the own incident of these test cases when an event told what was done with it."""
    assignments = _assignments(connection, entity_ids)
    if not assignments:
        return []
    case_ids = {case_id for case_id, _ in assignments}
    query = select(_EVENT.log_offset).where(is_one_of(connection, _EVENT.entity_id, case_ids))
    is_handling = (_EVENT.event_type == EventType.ENTITY_UPDATED, _EVENT.derived.contains(f'"{_FIELD}"'))
    offsets = list(connection.scalars(query.where(_EVENT.log_offset >= from_offset, *is_handling)))
    principals = []
    for offset, event in events_at(connection, offsets).items():
        step = _new_step(event)
        steps = assignments.get((event.entity_id, step["stateId"]), []) if step else []
        if place := bisect_right(steps, step["timestamp"], key=_time_of) if step else 0:
            _, assignee_id, kind = steps[place - 1]
            principal = Principal(ReasonKind.ASSIGNEE, assignee_id, kind, event.entity_id)
            principals.append(principal._replace(since_offset=offset, until_offset=offset))
    return principals


def _assignments(connection: Connection, case_ids: Collection[str]) -> dict[tuple[str, str], list[_Assignment]]:
    """Return the assignments of test cases' own incidents, the oldest first, by test case and incident."""
    columns = (_STEP.test_case_id, _STEP.state_id, _STEP.timestamp_ms, _STEP.assignee_id, _STEP.document)
    query = select(*columns).where(_STEP.assignee_id.is_not(None)).order_by(_STEP.timestamp_ms)
    assignments: dict[tuple[str, str], list[_Assignment]] = defaultdict(list)
    for case_id, state_id, at_ms, assignee_id, document in rows_by_key(connection, query, _STEP.test_case_id, case_ids):
        kind = from_text(document)["testCaseResolutionStatusDetails"]["assignee"]["type"]
        assignments[case_id, state_id].append(_Assignment(at_ms, assignee_id, kind))
    return assignments


def _time_of(assignment: _Assignment) -> int:
    return assignment.at_ms


def _new_step(event: ChangeEvent) -> Document | None:
    """Return the step that an event tells of and nothing else; None for reports, and where a step was corrected."""
    description = event.change_description
    if description is None or description.paths() != (_FIELD,):
        return None
    change = next(iter((*description.fields_added, *description.fields_updated)), None)
    if change is None or not isinstance(change.new_value, dict):
        return None
    is_correction = isinstance(change.old_value, dict) and change.old_value.get("id") == change.new_value["id"]
    return None if is_correction else change.new_value
