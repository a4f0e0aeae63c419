"""Lineage roots of failures: the most upstream asset with an open incident of the same alert.

Incidents and lineage count as they were at the event's place in the log, so asking again later gives the same root as
long as no earlier failure becomes known. Next: ``flow/schedule/roots.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Engine, select

from tocsin.flow.resolve.holding import Hidden, Waiting, nothing_hidden
from tocsin.flow.resolve.withholding import AlertAssets
from tocsin.flow.schedule.roots import GroupedMatch, Root
from tocsin.model.match_result import Pair
from tocsin.model.status import is_failure
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.log_tables import status_report
from tocsin.store.recipients.directory import full_names_of
from tocsin.store.recipients.holding import Incident, Reached, incidents_of, reach_by_asset
from tocsin.store.recipients.subject_assets import SubjectAssets, find_subject_assets


class _IncidentContext(NamedTuple):
    """The open incidents, the assets of what is asked about, and what lies downstream of these incidents.

    ``hidden`` are the alerts with assets that are hidden from them.
    """

    incidents: Sequence[Incident]
    assets: SubjectAssets
    reached: Reached
    hidden: AlertAssets = frozenset()


class Roots:
    """The lineage roots of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, matched: Sequence[GroupedMatch], hidden: Hidden = nothing_hidden) -> dict[int, dict[str, Root]]:
        """Return the root of each of these matches, by offset and alert; its own asset where no failure is upstream.

        Assets that are ``hidden`` from an alert are no roots of its groups.
        """
        if not matched:
            return {}
        with reading(self._engine) as connection:
            failing = _failing(connection, {one.log_offset for one in matched})
            context = _incident_context(connection, matched, failing)
            context = context._replace(
                hidden=hidden({(one.subscription_id, one.entity_id) for one in context.incidents})
            )
            upstream = {pair: one for pair, one in _upstream(matched, failing, context).items() if one is not None}
            names = full_names_of(connection, set(upstream.values()))
        roots: dict[int, dict[str, Root]] = {}
        for offset, entity_id, alert in matched:
            root = upstream.get((offset, alert))
            own_root = Root(context.assets.of(entity_id))
            roots.setdefault(offset, {})[alert] = own_root if root is None else Root(root, names.get(root, ""))
        return roots


def _incident_context(
    connection: Connection, matched: Sequence[GroupedMatch], failing: Collection[int]
) -> _IncidentContext:
    waiting = [Waiting(*one, (one.subscription_id,)) for one in matched if one.log_offset in failing]
    incidents = incidents_of(connection, waiting) if waiting else []
    begun = {one.entity_id for one in incidents}
    assets = find_subject_assets(connection, begun | {one.entity_id for one in matched})
    first = min(one.log_offset for one in matched)
    return _IncidentContext(incidents, assets, reach_by_asset(connection, begun, assets, first) if incidents else {})


def _upstream(
    matched: Sequence[GroupedMatch], failing: Collection[int], context: _IncidentContext
) -> Mapping[Pair, str | None]:
    """Return the asset upstream under which each failure is grouped; None where there is none."""
    return {
        (match.log_offset, match.subscription_id): _root_of(match, context)
        for match in matched
        if match.log_offset in failing
    }


def _root_of(match: GroupedMatch, context: _IncidentContext) -> str | None:
    """Return the most upstream asset; the one with the oldest incident of several, and where lineage is a circle."""
    own_asset, at = context.assets.of(match.entity_id), match.log_offset
    open_then = [
        incident
        for incident in context.incidents
        if incident.subscription_id == match.subscription_id
        and incident.since < at <= incident.until
        and (incident.subscription_id, incident.entity_id) not in context.hidden
    ]
    above = [incident for incident in open_then if _reaches(incident, own_asset, at, context)]
    highest = [incident for incident in above if not _is_downstream_of_others(incident, above, at, context)]
    oldest = min(highest or above, key=lambda incident: incident.since, default=None)
    asset = own_asset if oldest is None else context.assets.of(oldest.entity_id)
    return None if asset == own_asset else asset


def _is_downstream_of_others(
    incident: Incident, incidents: Sequence[Incident], at: int, context: _IncidentContext
) -> bool:
    asset = context.assets.of(incident.entity_id)
    return any(context.assets.of(each.entity_id) != asset and _reaches(each, asset, at, context) for each in incidents)


def _reaches(incident: Incident, asset: str, at: int, context: _IncidentContext) -> bool:
    spans = context.reached.get(asset, {}).get(incident.entity_id, ())
    return any(since <= at <= until for since, until in spans)


def _failing(connection: Connection, offsets: Collection[int]) -> set[int]:
    """Return which of these events report a failure."""
    query = select(status_report.c.log_offset, status_report.c.verdict).where(status_report.c.verdict.is_not(None))
    reports = rows_by_key(connection, query, status_report.c.log_offset, offsets)
    return {row.log_offset for row in reports if is_failure(row.verdict)}
