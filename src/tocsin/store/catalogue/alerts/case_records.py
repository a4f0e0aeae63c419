"""What new incidents take over from those that test cases have of their own: state, assignee, and who did it.

The test cases are held until the transaction ends, as by who handles either (``alerts/incidents.py``), so that nothing
is done to one of the two alone. Next: ``flow/track/case_records.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from uuid import uuid5

from sqlalchemy import Connection, select

from tocsin.chunks import chunks_of
from tocsin.conditions.test_results import TEST_CASE
from tocsin.flow.track.case_records import CaseRecord, record_of
from tocsin.model.alert_incident import IncidentStatus, StepKind
from tocsin.model.entity import Document
from tocsin.model.notification import NAMESPACE
from tocsin.model.people import SYSTEM
from tocsin.model.report import IncidentStep
from tocsin.store.database.documents import from_text
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.observation_tables import incident_status
from tocsin.store.database.tables import change_event, entity

_ROW, _EVENT = incident_status.c, change_event.c
_DETAILS = "testCaseResolutionStatusDetails"


def take_over(connection: Connection, incident_rows: Sequence[Document]) -> list[Document]:
    """Complete the rows of new incidents by what their test cases' own say; return the rows of the steps of that.

    One that a success has ended belongs to what its test case had at that time.
    """
    rows_of_cases = [row for row in incident_rows if row["entity_type"] == TEST_CASE]
    if not rows_of_cases:
        return []
    _hold(connection, {row["entity_id"] for row in rows_of_cases})
    state_ids = _state_ids(connection, rows_of_cases)
    steps_by_state = _steps_by_state(connection, set(state_ids.values()))
    step_rows: list[Document] = []
    for row in rows_of_cases:
        end_ms = row["resolved_at_ms"]
        steps = steps_by_state.get(state_ids.get(row["id"], ""), [])
        if steps_until_then := [one for one in steps if end_ms is None or one.at_ms <= end_ms]:
            step_rows += _take_over_record(connection, row, record_of(steps_until_then))
    return step_rows


def _hold(connection: Connection, case_ids: Collection[str]) -> None:
    """Hold test cases in the order of their names, as a deletion of what they lie below does."""
    for chunk in chunks_of(sorted(case_ids)):
        query = select(entity.c.id).where(entity.c.id.in_(chunk)).order_by(entity.c.fqn)
        connection.execute(query.with_for_update(read=True))


def _state_ids(connection: Connection, incident_rows: Sequence[Document]) -> dict[str, str]:
    """Return, by new incidents, the test case's own by their ids: the last one, or the one when a success ended it."""
    latest = select(_ROW.test_case_id, _ROW.state_id).where(_ROW.latest)
    case_ids = {row["entity_id"] for row in incident_rows}
    last_ids = {row.test_case_id: row.state_id for row in rows_by_key(connection, latest, _ROW.test_case_id, case_ids)}
    ended_rows = [row for row in incident_rows if row["resolved_at_ms"] is not None]
    moments: dict[str, list[tuple[int, str]]] = defaultdict(list)
    query = select(_ROW.test_case_id, _ROW.timestamp_ms, _ROW.state_id)
    ended_ids = {row["entity_id"] for row in ended_rows}
    for case_id, at_ms, state_id in rows_by_key(connection, query, _ROW.test_case_id, ended_ids):
        moments[case_id].append((at_ms, state_id))
    state_ids = {row["id"]: last_ids[row["entity_id"]] for row in incident_rows if row["entity_id"] in last_ids}
    for row in ended_rows:
        until_then = [moment for moment in moments[row["entity_id"]] if moment[0] <= row["resolved_at_ms"]]
        if until_then:
            state_ids[row["id"]] = max(until_then)[1]
    return state_ids


def _steps_by_state(connection: Connection, state_ids: Collection[str]) -> Mapping[str, list[IncidentStep]]:
    """Return the steps of these incidents of test cases, of each the oldest first."""
    query = select(incident_status).order_by(_ROW.timestamp_ms)
    steps: dict[str, list[IncidentStep]] = defaultdict(list)
    alike = ("id", "state_id", "test_case_id", "tested_id", "status", "assignee_id")
    for row in rows_by_key(connection, query, _ROW.state_id, state_ids):
        values = {name: getattr(row, name) for name in alike}
        steps[row.state_id].append(IncidentStep(at_ms=row.timestamp_ms, document=from_text(row.document), **values))
    return steps


def _take_over_record(connection: Connection, row: Document, record: CaseRecord) -> Iterator[Document]:
    """Complete the row of an incident; yield the rows of the steps that the test case's own has had."""
    row["state_id"] = record.state_id
    is_lasting = row["status"] == IncidentStatus.OPEN.value
    if record.acknowledgement is not None:
        row["status"] = IncidentStatus.ACKNOWLEDGED.value if is_lasting else row["status"]
        yield _step_row(row, record.acknowledgement, StepKind.ACKNOWLEDGED)
    if record.assignment is not None:
        assignee = record.assignment.document[_DETAILS]["assignee"]
        row |= {"assignee_id": assignee["id"], "assignee_type": assignee["type"]}
        yield _step_row(row, record.assignment, StepKind.ASSIGNED)
    end_id = _end_of(connection, row, record.resolution) if is_lasting and record.resolution else None
    if record.resolution is not None and end_id is not None:
        row |= {"status": IncidentStatus.RESOLVED.value, "resolved_at_ms": record.resolution.at_ms}
        yield _step_row(row, record.resolution, StepKind.RESOLVED) | {"event_id": end_id}


def _end_of(connection: Connection, row: Document, resolution: IncidentStep) -> str | None:
    """Return the event that says so: the last one of the test case when it was resolved by hand."""
    is_after = (_EVENT.entity_id == row["entity_id"], _EVENT.log_offset > row["opened_offset"])
    query = select(_EVENT.id).where(*is_after, _EVENT.timestamp_ms <= resolution.document["updatedAt"])
    event_id: str | None = connection.execute(query.order_by(_EVENT.log_offset.desc()).limit(1)).scalar_one_or_none()
    return event_id


def _step_row(row: Document, step: IncidentStep, kind: StepKind) -> Document:
    """Return the row of a step that an incident has had when it is opened, or afterwards; its event is another's."""
    user, details = step.document.get("updatedBy") or {}, step.document.get(_DETAILS) or {}
    assignee = details.get("assignee") or {}
    return {
        "id": str(uuid5(NAMESPACE, f"step of the test case|{row['id']}|{step.id}")),
        "incident_id": row["id"],
        "kind": kind.value,
        "at_ms": max(step.at_ms, row["opened_at_ms"]),
        "user_id": user.get("id", SYSTEM.id),
        "user_name": user.get("name", SYSTEM.name),
        "event_id": None,
        "comment": details.get("testCaseFailureComment"),
        "assignee_id": assignee.get("id"),
        "assignee_type": assignee.get("type"),
        "reason": details.get("testCaseFailureReason"),
    }
