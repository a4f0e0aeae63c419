"""Incidents in the store: opened and resolved with the notifications, changed by people, and read.

Whether a failure opens one follows from the reports in the log (``flow/track/alert_incidents.py``), so writing the same
matches again changes nothing. Numbers have no gaps: writers that open some take turns.
Next: ``alerts/incidents.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, exists, func, insert, or_, select, text, update

from tocsin.chunks import chunks_of
from tocsin.conditions.test_results import TEST_CASE
from tocsin.flow.resolve.directory import Principal
from tocsin.flow.track.alert_incidents import Failure, IncidentWork, KnownIncident, Opening, incidents_to_open
from tocsin.model.alert_incident import (
    AlertIncident,
    AlertIncidentStep,
    IncidentPlace,
    IncidentStatus,
    StepKind,
    name_of,
    number_in,
)
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.notification import ReasonKind
from tocsin.model.severity import Severity, severity_named
from tocsin.model.status import SUCCESS, is_failure
from tocsin.store.catalogue.alerts.case_records import hold_off_take_over, take_over
from tocsin.store.catalogue.alerts.severities import rate
from tocsin.store.catalogue.relations.inheritance_filters import tested_table
from tocsin.store.database.alert_tables import alert_incident, alert_incident_step, incident_watcher
from tocsin.store.database.engine import fetch_first, fetch_rows, insert_into, is_sqlite, reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.page_bytes import BoundedList
from tocsin.store.database.tables import change_event, entity, ownership

_ROW, _STEP, _WATCHER, _EVENT = alert_incident.c, alert_incident_step.c, incident_watcher.c, change_event.c
_TURN = text("SELECT pg_advisory_xact_lock(hashtext('tocsin incidents'))")
_NAMED_ALIKE = tuple(
    name
    for name in AlertIncident.__dataclass_fields__
    if name in alert_incident.columns and name not in ("status", "assignee", "merged_into", "severity")
)


def open_and_resolve(connection: Connection, work: IncidentWork) -> None:
    """Open and resolve the incidents that some matches mean, in the transaction of their notifications."""
    if work.failing:
        _open(connection, work, _failures(connection, {offset for offset, _ in work.failing}))
    if work.recovering:
        _recover(connection, work.recovering, work.now_ms)


def _failures(connection: Connection, offsets: Collection[int]) -> dict[int, Failure]:
    """Return those of these events that are failures, silences among them; of what is older than a report, none is."""
    report, newer = status_report.alias("of"), status_report.alias("newer")
    is_history = is_out_of_order(report, newer)
    place = (report.c.log_offset, _EVENT.id, report.c.entity_id, _EVENT.entity_type, _EVENT.timestamp_ms)
    after, until = func.coalesce(_success(report, is_before=True), 0), _success(report, is_before=False)
    query = select(report.c.verdict, _EVENT.event_type, *place, after, until)
    query = query.join(change_event, _EVENT.log_offset == report.c.log_offset).where(~is_history)
    failures: dict[int, Failure] = {}
    for verdict, event_type, offset, *columns in rows_by_key(connection, query, report.c.log_offset, offsets):
        if event_type == EventType.SLA_VIOLATION.value or (verdict is not None and is_failure(verdict)):
            failures[offset] = Failure(offset, *columns)
    return failures


def _success(report: Any, *, is_before: bool) -> Any:  # Any: SQLAlchemy's alias, and its subquery
    """Return the place of an asset's last success before a report, or of the first after it."""
    success, newer = status_report.alias(), status_report.alias()
    place = success.c.log_offset
    query = select(place).where(success.c.entity_id == report.c.entity_id, success.c.verdict == SUCCESS)
    query = query.where(
        place < report.c.log_offset if is_before else place > report.c.log_offset, ~is_out_of_order(success, newer)
    )
    return query.order_by(place.desc() if is_before else place).limit(1).correlate(report).scalar_subquery()


def is_out_of_order(report: Any, newer: Any) -> ColumnElement[bool]:  # Any: SQLAlchemy's aliases
    """Return the condition that a report arrived out of order: an event with a lower offset reports a later time."""
    later = (newer.c.reported_at_ms > report.c.reported_at_ms, newer.c.verdict.is_not(None))
    query = select(newer.c.log_offset).where(
        newer.c.entity_id == report.c.entity_id, newer.c.log_offset < report.c.log_offset, *later
    )
    return exists(query.correlate(report))


def ended_offset() -> ColumnElement[int]:
    """Return where in the log an incident ended: at a success, or where a person resolved it; null while it lasts."""
    by_hand = select(func.max(_EVENT.log_offset)).join(alert_incident_step, _STEP.event_id == _EVENT.id)
    by_hand = by_hand.where(_STEP.incident_id == _ROW.id, _STEP.kind == StepKind.RESOLVED.value)
    return func.coalesce(_ROW.recovered_offset, by_hand.correlate(alert_incident).scalar_subquery())


def _incidents_by_asset(connection: Connection, failures: Iterable[Failure]) -> dict[str, list[KnownIncident]]:
    """Return the incidents of the assets of these failures that were not over before the first of them."""
    first_offsets = dict[str, int]()
    for failure in failures:
        offset = failure.log_offset
        first_offsets[failure.entity_id] = min(offset, first_offsets.get(failure.entity_id, offset))
    if not first_offsets:
        return {}
    query = select(_ROW.entity_id, _ROW.id, _ROW.opened_offset, ended_offset()).where(_ROW.merged_into.is_(None))
    is_recent = or_(_ROW.recovered_offset.is_(None), _ROW.recovered_offset > min(first_offsets.values()))
    incidents_by_asset: dict[str, list[KnownIncident]] = defaultdict(list)
    for entity_id, *columns in rows_by_key(connection, query.where(is_recent), _ROW.entity_id, first_offsets):
        incidents_by_asset[entity_id].append(KnownIncident(*columns))
    return incidents_by_asset


def _open(connection: Connection, work: IncidentWork, failures: dict[int, Failure]) -> None:
    openings = _openings(connection, work, failures)
    if any(opening.known_offset is None for opening in openings):
        if not is_sqlite(connection):  # SQLite has one writer
            connection.execute(_TURN)  # another writer may have had its turn meanwhile
            openings = _openings(connection, work, failures)
        # A person may have resolved one before it had a number: later failures open another.
        while new_openings := [opening for opening in openings if opening.known_offset is None]:
            _insert(connection, new_openings, work.now_ms)
            openings = _openings(connection, work, failures)
    for opening in sorted(openings):
        known_offset, first = opening.known_offset, opening.first
        if (
            known_offset is not None and first.log_offset < known_offset
        ):  # another task or query found a later one first
            connection.execute(update(alert_incident).where(_ROW.id == opening.id).values(_first(first)))
    _watch(connection, openings)


def _openings(connection: Connection, work: IncidentWork, failures: dict[int, Failure]) -> list[Opening]:
    return incidents_to_open(work.failing, failures, _incidents_by_asset(connection, failures.values()))


def _insert(connection: Connection, new: Sequence[Opening], now_ms: int) -> None:
    last = connection.execute(select(func.coalesce(func.max(_ROW.number), 0))).scalar_one()
    moments = _moments(connection, [opening.first.until for opening in new if opening.first.until is not None])
    incidents = [_new_row(opening, number, moments, now_ms) for number, opening in enumerate(new, start=int(last) + 1)]
    step_rows = take_over(connection, incidents)
    connection.execute(insert(alert_incident), incidents)
    if step_rows:
        connection.execute(insert(alert_incident_step), step_rows)


def _watch(connection: Connection, openings: Sequence[Opening]) -> None:
    """Store which alerts watch these incidents, and since which failure."""
    query = select(incident_watcher)
    stored_rows = rows_by_key(connection, query, _WATCHER.incident_id, {opening.id for opening in openings})
    offsets_by_watcher = {(row.incident_id, row.subscription_id): row.opened_offset for row in stored_rows}
    watchers = [
        {"incident_id": opening.id, "subscription_id": alert, "opened_offset": offset}
        for opening in openings
        for alert, offset in opening.watchers.items()
        if offset < offsets_by_watcher.get((opening.id, alert), offset + 1)
    ]
    if not watchers:
        return
    statement = insert_into(connection, incident_watcher)
    earlier = statement.excluded.opened_offset
    statement = statement.on_conflict_do_update(
        index_elements=[_WATCHER.incident_id, _WATCHER.subscription_id],
        set_={"opened_offset": earlier},
        where=earlier < _WATCHER.opened_offset,
    )
    # In one order, so that two writers never wait for each other.
    connection.execute(statement, sorted(watchers, key=itemgetter("incident_id", "subscription_id")))
    rate(connection, {opening.id for opening in openings})


def _first(failure: Failure) -> Document:
    return {
        "opened_offset": failure.log_offset,
        "opened_at_ms": failure.at_ms,
        "opened_event_id": failure.event_id,
    }


def _new_row(opening: Opening, number: int, moments: dict[int, tuple[str, int]], now_ms: int) -> Document:
    until = opening.first.until
    event_id, at_ms = moments[until] if until is not None else (None, None)
    return {
        "id": opening.id,
        "number": number,
        "entity_id": opening.first.entity_id,
        "entity_type": opening.first.entity_type,
        "status": (IncidentStatus.OPEN if until is None else IncidentStatus.RESOLVED).value,
        **_first(opening.first),
        "recovered_offset": until,
        "recovered_event_id": event_id,
        "resolved_at_ms": at_ms,
        "updated_at_ms": now_ms,
        "assignee_id": None,
        "assignee_type": None,
        "state_id": None,
    }


def _moments(connection: Connection, offsets: Sequence[int]) -> dict[int, tuple[str, int]]:
    """Return id and time of the events at these places."""
    query = select(_EVENT.log_offset, _EVENT.id, _EVENT.timestamp_ms)
    events = rows_by_key(connection, query, _EVENT.log_offset, set(offsets))
    return {offset: (event_id, at_ms) for offset, event_id, at_ms in events}


def _recover(connection: Connection, entity_ids: Collection[str], now_ms: int) -> None:
    """Resolve the open incidents of these assets that a success follows."""
    report = status_report.alias("of")
    until = _success(report, is_before=False).label("until")
    query = select(_ROW.id, until).join(report, report.c.log_offset == _ROW.opened_offset)
    query = query.where(_ROW.status != IncidentStatus.RESOLVED.value, _ROW.merged_into.is_(None))
    for chunk in chunks_of(sorted(entity_ids)):
        incidents = connection.execute(query.where(_ROW.entity_id.in_(chunk)).order_by(_ROW.id)).all()
        moments = _moments(connection, [row.until for row in incidents if row.until is not None])
        for row in incidents:
            if row.until is not None:
                event_id, at_ms = moments[row.until]
                end = {"recovered_offset": row.until, "recovered_event_id": event_id, "resolved_at_ms": at_ms}
                is_open = (_ROW.id == row.id, _ROW.status != IncidentStatus.RESOLVED.value)
                values = {"status": IncidentStatus.RESOLVED.value, **end, "updated_at_ms": now_ms}
                connection.execute(update(alert_incident).where(*is_open).values(values))
        _release_parts(connection, [row.id for row in incidents if row.until is not None])


def _release_parts(connection: Connection, resolved_ids: Sequence[str]) -> None:
    """Let the parts of these incidents stand for themselves that still fail."""
    lasts = (_ROW.part_of.in_(resolved_ids), _ROW.status != IncidentStatus.RESOLVED.value)
    if resolved_ids:
        connection.execute(update(alert_incident).where(*lasts).values(part_of=None))


def assignees_at(connection: Connection, entity_ids: Collection[str], from_offset: int) -> list[Principal]:
    """Return who was assigned to an incident of these assets when an event said so, for that event alone."""
    who = (_ROW.entity_id, _STEP.assignee_id, _STEP.assignee_type, _EVENT.log_offset)
    query = select(*who).join(alert_incident_step, _STEP.incident_id == _ROW.id)
    query = query.join(change_event, _EVENT.id == _STEP.event_id)
    query = query.where(_STEP.assignee_id.is_not(None), _EVENT.log_offset >= from_offset)
    return [
        Principal(ReasonKind.ASSIGNEE, assignee_id, kind, asset, since_offset=offset, until_offset=offset)
        for asset, assignee_id, kind, offset in rows_by_key(connection, query, _ROW.entity_id, entity_ids)
    ]


class SqlAlertIncidents:
    """Incidents on the connection of a transaction (``flow/capture/ports.AlertIncidents``)."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._run = connection, connection.execute

    def place_of(self, identity: str) -> IncidentPlace | None:
        """Return the asset and the name of an incident; None if there is no such incident."""
        query = select(_ROW.entity_type, _ROW.entity_id, _ROW.number).where(_ROW.id == identity)
        row = self._run(query).one_or_none()
        return None if row is None else IncidentPlace(row.entity_type, row.entity_id, name_of(row.number))

    def hold(self, identity: str) -> AlertIncident | None:
        """Return an incident, or the one into which it was merged, and hold it; None if there is none."""
        lead_id = select(func.coalesce(_ROW.merged_into, _ROW.id)).where(_ROW.id == identity)
        lead = select(alert_incident).where(_ROW.id == self._run(lead_id).scalar_one_or_none())
        row = self._run(lead.with_for_update()).one_or_none()
        return None if row is None else incident_of(row)

    def hold_unresolved(self, entity_id: str) -> AlertIncident | None:
        """Return the incident of an asset that is not resolved, and hold it; None if there is none."""
        lasts = (_ROW.status != IncidentStatus.RESOLVED.value, _ROW.merged_into.is_(None))
        query = select(alert_incident).where(_ROW.entity_id == entity_id, *lasts).order_by(_ROW.number).limit(1)
        row = self._run(query.with_for_update()).one_or_none()
        return None if row is None else incident_of(row)

    def parts_of(self, identity: str) -> list[AlertIncident]:
        """Return the parts of an incident that are not resolved, in order, and hold them."""
        lasts = (_ROW.part_of == identity, _ROW.status != IncidentStatus.RESOLVED.value)
        query = select(alert_incident).where(*lasts).order_by(_ROW.id)
        return list(map(incident_of, self._run(query.with_for_update())))

    def take_turn(self) -> None:
        """Wait until nobody else merges or splits incidents, and let others wait for this transaction."""
        if not is_sqlite(self._connection):  # SQLite has one writer
            self._run(_TURN)

    def hold_off_openings(self) -> None:
        """Wait until no incident of a test case is being opened, and let none be until this transaction ends."""
        hold_off_take_over(self._connection)

    def take(self, after: AlertIncident, step: AlertIncidentStep) -> None:
        """Replace an incident's state and add the step that led to it."""
        values = {
            "status": after.status.value,
            **assignee_columns(after.assignee),
            "resolved_at_ms": after.resolved_at_ms,
            "part_of": after.part_of,
            "updated_at_ms": after.updated_at_ms,
        }
        self._run(update(alert_incident).where(_ROW.id == after.id).values(values))
        step_row = {key: value for key, value in vars(step).items() if key != "assignee"}
        self._run(insert(alert_incident_step), step_row | assignee_columns(step.assignee))

    def steps(self, identity: str) -> list[AlertIncidentStep]:
        """Return what people have done to an incident, in order."""
        query = select(alert_incident_step).where(_STEP.incident_id == identity)
        return steps_of(self._run(query.order_by(_STEP.at_ms, _STEP.id)))


def assignee_columns(assignee: Document | None) -> Document:
    """Return what is stored of a reference to an assignee."""
    return {"assignee_id": assignee and assignee["id"], "assignee_type": assignee and assignee["type"]}


def incident_of(row: Row[Any]) -> AlertIncident:  # Any: SQLAlchemy's tuple of columns
    """Return the incident in a row."""
    same = {name: getattr(row, name) for name in _NAMED_ALIKE}
    severity = severity_named(row.severity)
    return AlertIncident(status=IncidentStatus(row.status), assignee=_assignee(row), severity=severity, **same)


def steps_of(step_rows: Iterable[Row[Any]]) -> list[AlertIncidentStep]:  # Any: as above
    """Return the steps in these rows."""
    alike = (
        *("id", "incident_id", "at_ms", "user_id", "user_name", "event_id", "comment", "reason", "other_id"),
        *("for_id", "away_until_ms"),
    )
    return [
        AlertIncidentStep(
            kind=StepKind(row.kind), assignee=_assignee(row), **{name: getattr(row, name) for name in alike}
        )
        for row in step_rows
    ]


def _assignee(row: Row[Any]) -> Document | None:  # Any: as above
    return None if row.assignee_id is None else {"id": row.assignee_id, "type": row.assignee_type}


def _is_test_of(table_id: str) -> ColumnElement[bool]:
    """Return the condition that an incident is of a test of a table."""
    test = entity.alias("failed_test")
    is_test = (test.c.id == _ROW.entity_id, test.c.entity_type == TEST_CASE, tested_table(test.c) == table_id)
    return exists(select(test.c.id).where(*is_test).correlate(alert_incident))


def _is_owned_by(owner_ids: Collection[str]) -> ColumnElement[bool]:
    """Return the condition that an incident is of what these people or teams own, or of a test of a table of theirs."""
    owned_ids = select(ownership.c.entity_id).where(ownership.c.owner_id.in_(owner_ids))
    test = entity.alias("owned_test")
    is_test = (test.c.id == _ROW.entity_id, test.c.entity_type == TEST_CASE, tested_table(test.c).in_(owned_ids))
    return or_(_ROW.entity_id.in_(owned_ids), exists(select(test.c.id).where(*is_test).correlate(alert_incident)))


@dataclass(frozen=True)
class AlertIncidentFilter:
    """Filters of incidents; None is no filter. ``unresolved`` leaves out those that are over.

    ``subscription_id`` is an alert that watches them. ``asset_id`` is what failed, or the table that its test checks;
    ``owner_ids`` own one of these. ``unattended``: nobody acknowledged them or is assigned.
    """

    status: IncidentStatus | None = None
    subscription_id: str | None = None
    assignee_ids: Collection[str] | None = None
    unresolved: bool = False
    severity: Severity | None = None
    asset_id: str | None = None
    owner_ids: Collection[str] | None = None
    unattended: bool = False


class AlertIncidentLog:
    """The incidents of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(self, name: str) -> AlertIncident | None:
        """Return the incident with that number (``INC-7``) or id.

        One that was merged is returned as that into which it was, under its own number and id.
        """
        number = number_in(name)
        condition = _ROW.id == name if number is None else _ROW.number == number
        row = fetch_first(self._engine, select(alert_incident).where(condition))
        if row is None or row.merged_into is None:
            return None if row is None else incident_of(row)
        lead = fetch_first(self._engine, select(alert_incident).where(_ROW.id == row.merged_into))
        return None if lead is None else incident_of(row).as_part(incident_of(lead))

    def by_ids(self, incident_ids: Collection[str]) -> dict[str, AlertIncident]:
        """Return these incidents, by their ids."""
        with reading(self._engine) as connection:
            incident_rows = rows_by_key(connection, select(alert_incident), _ROW.id, incident_ids)
            return {row.id: incident_of(row) for row in incident_rows}

    def parts(self, incident_ids: Collection[str]) -> dict[str, list[AlertIncident]]:
        """Return the parts of each of these incidents, in the order of their numbers."""
        parts: dict[str, list[AlertIncident]] = {one: [] for one in incident_ids}
        with reading(self._engine) as connection:
            query = select(alert_incident).order_by(_ROW.number)
            for row in rows_by_key(connection, query, _ROW.part_of, incident_ids):
                parts[row.part_of].append(incident_of(row))
        return parts

    def watchers(self, incident_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the ids of the alerts that watch each of these incidents, in the order of their first failures."""
        alerts: dict[str, list[str]] = {one: [] for one in incident_ids}
        query = select(incident_watcher).order_by(_WATCHER.opened_offset, _WATCHER.subscription_id)
        with reading(self._engine) as connection:
            for row in rows_by_key(connection, query, _WATCHER.incident_id, incident_ids):
                alerts[row.incident_id].append(row.subscription_id)
        return alerts

    def page(
        self, criteria: AlertIncidentFilter, *, limit: int, before: int | None = None
    ) -> BoundedList[AlertIncident]:
        """Return at most ``limit`` incidents, newest first, with numbers below ``before``."""
        comparisons = (
            (_ROW.status, criteria.status and criteria.status.value),
            (_ROW.severity, criteria.severity and criteria.severity.value),
        )
        query = select(alert_incident).where(*(column == value for column, value in comparisons if value is not None))
        query = query.where(_ROW.merged_into.is_(None))
        if criteria.subscription_id is not None:
            watched_ids = select(_WATCHER.incident_id).where(_WATCHER.subscription_id == criteria.subscription_id)
            query = query.where(_ROW.id.in_(watched_ids))
        if criteria.assignee_ids is not None:
            query = query.where(_ROW.assignee_id.in_(criteria.assignee_ids))
        if criteria.asset_id is not None:
            query = query.where(or_(_ROW.entity_id == criteria.asset_id, _is_test_of(criteria.asset_id)))
        if criteria.owner_ids is not None:
            query = query.where(_is_owned_by(criteria.owner_ids))
        if criteria.unattended:
            query = query.where(_ROW.status == IncidentStatus.OPEN.value, _ROW.assignee_id.is_(None))
        if criteria.unresolved:
            query = query.where(_ROW.status != IncidentStatus.RESOLVED.value)
        if before is not None:
            query = query.where(_ROW.number < before)
        incidents = fetch_rows(self._engine, query.order_by(_ROW.number.desc()).limit(limit))
        return BoundedList(map(incident_of, incidents))

    def open_or_since(self, since_ms: int, *, limit: int) -> BoundedList[AlertIncident]:
        """Return at most ``limit`` incidents that are open or began since a time, newest first."""
        is_counted = or_(_ROW.status != IncidentStatus.RESOLVED.value, _ROW.opened_at_ms >= since_ms)
        query = select(alert_incident).where(_ROW.merged_into.is_(None), is_counted)
        incidents = fetch_rows(self._engine, query.order_by(_ROW.number.desc()).limit(limit))
        return BoundedList(map(incident_of, incidents))

    def steps_of_kind(self, incident_ids: Collection[str], *kinds: StepKind) -> dict[str, list[AlertIncidentStep]]:
        """Return the steps of some kinds, in order, of each of these incidents that has any."""
        steps = defaultdict[str, list[AlertIncidentStep]](list)
        query = select(alert_incident_step).where(_STEP.kind.in_([kind.value for kind in kinds]))
        with reading(self._engine) as connection:
            step_rows = list(rows_by_key(connection, query, _STEP.incident_id, incident_ids))
        for step in sorted(steps_of(step_rows), key=lambda step: (step.at_ms, step.id)):
            steps[step.incident_id].append(step)
        return steps

    def steps(self, incident_id: str) -> list[AlertIncidentStep]:
        """Return what was done to an incident, to those that were merged by a migration, and with parts, in order."""
        parts = select(_ROW.id).where(or_(_ROW.id == incident_id, _ROW.merged_into == incident_id))
        is_about = or_(_STEP.incident_id.in_(parts), _STEP.other_id == incident_id)
        query = select(alert_incident_step).where(is_about).order_by(_STEP.at_ms, _STEP.id)
        return steps_of(fetch_rows(self._engine, query))
