"""What new incidents take over from those that test cases have of their own: state, assignee, and who did it.

Who takes over and who handles either (``alerts/incidents.py``) exclude each other until their transactions end, so that
nothing is done to one of the two alone. Next: ``flow/track/case_records.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from uuid import uuid5

from sqlalchemy import BigInteger, Connection, cast, select, text

from tocsin.conditions.test_results import TEST_CASE
from tocsin.flow.track.case_records import CaseRecord, record_of, says_of, state_id_in
from tocsin.model.alert_incident import IncidentStatus, StepKind
from tocsin.model.entity import Document
from tocsin.model.notification import NAMESPACE
from tocsin.model.people import SYSTEM
from tocsin.model.report import IncidentStep
from tocsin.store.database.documents import from_text
from tocsin.store.database.engine import is_sqlite
from tocsin.store.database.keys import listed_tuples, rows_by_key
from tocsin.store.database.observation_tables import incident_status
from tocsin.store.database.tables import change_event
from tocsin.store.eventlog.log import events_at

_ROW, _EVENT = incident_status.c, change_event.c
_DETAILS = "testCaseResolutionStatusDetails"
_HOLD_RECORDS = text("SELECT pg_advisory_xact_lock(hashtext('tocsin case records'))")
_SHARE_RECORDS = text("SELECT pg_advisory_xact_lock_shared(hashtext('tocsin case records'))")


def hold_off_take_over(connection: Connection) -> None:
    """Wait until no record is being taken over, and let none be until this transaction ends."""
    if not is_sqlite(connection):  # SQLite has one writer
        connection.execute(_SHARE_RECORDS)


def take_over(connection: Connection, incident_rows: Sequence[Document]) -> list[Document]:
    """Complete the rows of new incidents by what their test cases' own say; return the rows of the steps of that.

    Each belongs to the one that its first failure names; a silence names none. To one that a success has ended, only
    what people did until then is done.
    """
    state_ids = _state_ids(connection, incident_rows)
    if not state_ids:
        return []
    if not is_sqlite(connection):  # SQLite has one writer
        connection.execute(_HOLD_RECORDS)
    steps_by_state = _steps_by_state(connection, set(state_ids.values()))
    step_rows: list[Document] = []
    resolutions: list[tuple[Document, IncidentStep]] = []
    for row in incident_rows:
        steps = steps_by_state.get(state_ids.get(row["id"], ""), [])
        row["state_id"] = steps[0].state_id if steps else None
        end_ms = row["resolved_at_ms"]
        if steps_until_end := [one for one in steps if end_ms is None or _taken_ms(one) <= end_ms]:
            record = record_of(steps_until_end)
            step_rows += _take_over_record(row, record)
            resolutions += [(row, record.resolution)] if record.resolution and end_ms is None else []
    return step_rows + _resolve(connection, resolutions)


def _state_ids(connection: Connection, incident_rows: Sequence[Document]) -> dict[str, str]:
    """Return, by new incidents' ids, the ids of the test cases' own that their first failures name."""
    rows_of_cases = [row for row in incident_rows if row["entity_type"] == TEST_CASE]
    events = events_at(connection, {row["opened_offset"] for row in rows_of_cases})
    named_ids = ((row["id"], state_id_in(events[row["opened_offset"]])) for row in rows_of_cases)
    return {incident_id: state_id for incident_id, state_id in named_ids if state_id is not None}


def _taken_ms(step: IncidentStep) -> int:
    """Return when a step was taken: where a clock was set back, its time is later; that of its update if corrected."""
    return min(step.at_ms, int(step.document["updatedAt"]))


def _steps_by_state(connection: Connection, state_ids: Collection[str]) -> Mapping[str, list[IncidentStep]]:
    """Return the steps of these incidents of test cases, of each the oldest first."""
    query = select(incident_status).order_by(_ROW.timestamp_ms)
    steps: dict[str, list[IncidentStep]] = defaultdict(list)
    alike = ("id", "state_id", "test_case_id", "tested_id", "status", "assignee_id")
    for row in rows_by_key(connection, query, _ROW.state_id, state_ids):
        values = {name: getattr(row, name) for name in alike}
        steps[row.state_id].append(IncidentStep(at_ms=row.timestamp_ms, document=from_text(row.document), **values))
    return steps


def _take_over_record(row: Document, record: CaseRecord) -> Iterator[Document]:
    """Complete the row of an incident; yield the rows of the steps that the test case's own has had before its end."""
    if record.acknowledgement is not None:
        is_lasting = row["status"] == IncidentStatus.OPEN.value
        row["status"] = IncidentStatus.ACKNOWLEDGED.value if is_lasting else row["status"]
        yield _step_row(row, record.acknowledgement, StepKind.ACKNOWLEDGED)
    if record.assignment is not None:
        assignee = record.assignment.document[_DETAILS]["assignee"]
        row |= {"assignee_id": assignee["id"], "assignee_type": assignee["type"]}
        yield _step_row(row, record.assignment, StepKind.ASSIGNED)


def _resolve(connection: Connection, resolutions: Sequence[tuple[Document, IncidentStep]]) -> list[Document]:
    """Complete the rows of incidents whose test cases' own are resolved; return the rows of these steps."""
    event_ids = _resolving_events(connection, resolutions) if resolutions else {}
    step_rows: list[Document] = []
    for row, resolution in resolutions:
        if event_id := event_ids.get(row["id"]):
            row |= {"status": IncidentStatus.RESOLVED.value, "resolved_at_ms": resolution.at_ms}
            step_rows.append(_step_row(row, resolution, StepKind.RESOLVED) | {"event_id": event_id})
    return step_rows


def _resolving_events(
    connection: Connection, resolutions: Sequence[tuple[Document, IncidentStep]]
) -> Mapping[str, str]:
    """Return, by incidents' ids, the ids of the events that say so, which are of the same moment."""
    steps = {row["id"]: step for row, step in resolutions}
    keys = [
        (row["id"], row["entity_id"], row["opened_offset"], step.document["updatedAt"]) for row, step in resolutions
    ]
    incident_id, case_id, opened_offset, at_ms = listed_tuples(connection, keys)
    is_after = _EVENT.log_offset > cast(opened_offset, BigInteger)
    is_then = _EVENT.timestamp_ms == cast(at_ms, BigInteger)
    query = select(_EVENT.log_offset, incident_id).where(_EVENT.entity_id == case_id, is_after, is_then)
    places = sorted(map(tuple, connection.execute(query)))
    events, event_ids = events_at(connection, {offset for offset, _ in places}), dict[str, str]()
    for offset, incident in places:
        if says_of(events[offset], steps[incident]):
            event_ids.setdefault(incident, events[offset].id)
    return event_ids


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
