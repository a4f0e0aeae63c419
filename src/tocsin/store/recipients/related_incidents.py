"""Incidents upstream of a failure that last at the same time: what probably caused it.

Lineage counts as it is now; what was soft-deleted when a failure began fed nothing. What lies farthest upstream comes
first, of several the oldest. A cause that people have dismissed for an incident is none for its failures.
Next: ``store/outbox/failure_messages.py``, ``server/alerts/incidents.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, Engine, select

from tocsin.flow.resolve.directory import NO_END
from tocsin.model.alert_incident import ABOUT_CAUSES, AlertIncident, IncidentStatus, StepKind
from tocsin.store.catalogue.alerts.incidents import ended_offset, incident_of
from tocsin.store.database.alert_tables import alert_incident, alert_incident_step
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import lineage_edge
from tocsin.store.recipients.holding import MOST_HOPS
from tocsin.store.recipients.relations_over_time import deleted_spans
from tocsin.store.recipients.subject_assets import find_subject_assets

_MOST_INCIDENTS = 1_000
"""So many incidents are looked through, the newest."""

_ROW, _STEP, _EDGE = alert_incident.c, alert_incident_step.c, lineage_edge.c


class FailureTime(NamedTuple):
    """An asset that fails, and between which offsets of the log."""

    entity_id: str
    since: int
    until: int = NO_END


class Cause(NamedTuple):
    """An incident upstream, and the asset that it is about: of a test, its table."""

    incident: AlertIncident
    asset_id: str


class RelatedIncidents:
    """The incidents of one store that probably caused others."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def causes_of_incident(self, incident: AlertIncident) -> list[Cause]:
        """Return the incidents upstream that lasted while an incident did, whatever ended it, the farthest first."""
        with reading(self._engine) as connection:
            query = select(ended_offset()).where(_ROW.id == incident.lead_id)
            ended = connection.execute(query).scalar_one_or_none()
            failure = FailureTime(incident.entity_id, incident.opened_offset, ended or NO_END)
            return causes_of(connection, [failure])[failure]


def causes_of(connection: Connection, failures: Collection[FailureTime]) -> dict[FailureTime, list[Cause]]:
    """Return the incidents upstream of each of these failures, the farthest first; maybe none."""
    own_assets = find_subject_assets(connection, {failure.entity_id for failure in failures})
    upstream = _upstream(connection, {failure: own_assets.of(failure.entity_id) for failure in failures})
    if not any(upstream.values()):
        return {failure: [] for failure in failures}
    candidates = _candidates(connection, min(failure.until for failure in failures))
    dismissals = dismissals_of(connection, failures)
    assets = find_subject_assets(connection, {incident.entity_id for incident, _ in candidates})
    return {
        failure: _farthest_first(
            [
                Cause(incident, assets.of(incident.entity_id))
                for incident, end_offset in candidates
                if incident.opened_offset <= failure.until
                and failure.since <= end_offset
                and incident.id not in dismissals[failure]
            ],
            upstream[failure],
        )
        for failure in failures
    }


def dismissals_of(connection: Connection, failures: Collection[FailureTime]) -> dict[FailureTime, set[str]]:
    """Return, by failure, the incidents of which people said last that they did not cause the one it belongs to."""
    query = select(_ROW.id, _ROW.entity_id, _ROW.opened_offset, ended_offset().label("ended"), _STEP.other_id)
    query = query.add_columns(_STEP.kind, _STEP.at_ms, _STEP.id.label("step_id"))
    query = query.join(alert_incident_step, _STEP.incident_id == _ROW.id)
    query = query.where(_STEP.kind.in_([kind.value for kind in ABOUT_CAUSES]))
    judgements = rows_by_key(connection, query, _ROW.entity_id, {failure.entity_id for failure in failures})
    in_order = sorted(judgements, key=lambda row: (row.at_ms, row.step_id))
    last_judgements = {(row.id, row.other_id): row for row in in_order}
    dismissals = [row for row in last_judgements.values() if row.kind == StepKind.NOT_CAUSED.value]
    return {
        failure: {
            row.other_id
            for row in dismissals
            if row.entity_id == failure.entity_id and row.opened_offset <= failure.since <= (row.ended or NO_END)
        }
        for failure in failures
    }


def _farthest_first(candidates: Collection[Cause], hops: Mapping[str, int]) -> list[Cause]:
    causes = [cause for cause in candidates if cause.asset_id in hops]
    return sorted(causes, key=lambda cause: (-hops[cause.asset_id], cause.incident.opened_offset))


def _candidates(connection: Connection, until: int) -> list[tuple[AlertIncident, int]]:
    """Return incidents that are not resolved and, for failures that ended, the last that began before, with their ends.

    Both are walks through an index, the newest first.
    """
    query = select(alert_incident, ended_offset().label("ended")).where(_ROW.merged_into.is_(None))
    newest = query.order_by(_ROW.number.desc()).limit(_MOST_INCIDENTS)
    unresolved = _ROW.status.in_((IncidentStatus.OPEN.value, IncidentStatus.ACKNOWLEDGED.value))
    selections = [unresolved] if until == NO_END else [unresolved, _ROW.opened_offset <= until]
    incident_rows = {row.id: row for which in selections for row in connection.execute(newest.where(which))}
    return [(incident_of(row), row.ended or NO_END) for row in incident_rows.values()]


def _upstream(connection: Connection, assets: Mapping[FailureTime, str]) -> dict[FailureTime, dict[str, int]]:
    """Return what the asset of each failure is made from, with the least number of steps; one lookup per step for all.

    What was soft-deleted when a failure began is left out, and so is what lies above it.
    """
    hops: dict[FailureTime, dict[str, int]] = {failure: {} for failure in assets}
    frontier: dict[str, set[FailureTime]] = defaultdict(set)  # node: whose upstream it is
    for failure, asset_id in assets.items():
        frontier[asset_id].add(failure)
    for level in range(1, MOST_HOPS + 1):
        edges = list(rows_by_key(connection, select(_EDGE.from_id, _EDGE.to_id), _EDGE.to_id, frontier))
        deletions = deleted_spans(connection, {from_id for from_id, _ in edges})
        steps = ((from_id, failure) for from_id, to_id in edges for failure in frontier[to_id])
        above: dict[str, set[FailureTime]] = defaultdict(set)
        for from_id, failure in steps:
            is_new = from_id != assets[failure] and from_id not in hops[failure]
            if is_new and not any(since <= failure.since <= until for since, until in deletions.get(from_id, ())):
                hops[failure][from_id] = level
                above[from_id].add(failure)
        if not above:
            break
        frontier = above
    return hops
