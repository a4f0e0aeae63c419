"""Lineage roots of failures: the most upstream asset with an open incident that the same alert watches.

Incidents and lineage count as they were at the event's place in the log, so asking again later gives the same root as
long as no earlier failure becomes known. Next: ``flow/schedule/roots.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, Engine, select

from tocsin.flow.resolve.holding import Hidden, Waiting, nothing_hidden
from tocsin.flow.schedule.roots import GroupedMatch, Root
from tocsin.model.status import is_failure
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.log_tables import status_report
from tocsin.store.recipients.directory import full_names_of
from tocsin.store.recipients.holding import Incident, incidents_of, reach_by_asset
from tocsin.store.recipients.subject_assets import find_subject_assets


class Roots:
    """The lineage roots of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, matches: Sequence[GroupedMatch], hidden: Hidden = nothing_hidden) -> dict[int, dict[str, Root]]:
        """Return the root of each of these matches, by offset and alert; its own asset where no failure is upstream.

        Assets that are ``hidden`` from an alert are no roots of its groups.
        """
        if not matches:
            return {}
        with reading(self._engine) as connection:
            failing_offsets = _failure_offsets(connection, {one.log_offset for one in matches})
            incidents = _OpenIncidents(connection, matches, failing_offsets, hidden)
            failures = [match for match in matches if match.log_offset in failing_offsets]
            upstream = {
                (failure.log_offset, failure.subscription_id): root
                for failure in failures
                if (root := incidents.root_of(failure)) is not None
            }
            names = full_names_of(connection, set(upstream.values()))
        roots: dict[int, dict[str, Root]] = {}
        for offset, entity_id, alert in matches:
            root = upstream.get((offset, alert))
            own_root = Root(incidents.assets.of(entity_id))
            roots.setdefault(offset, {})[alert] = own_root if root is None else Root(root, names.get(root, ""))
        return roots


class _OpenIncidents:
    """The open incidents of the alerts of these failures, but for assets hidden from them, and what lies downstream.

    ``assets`` are those that the matches are about.
    """

    def __init__(
        self, connection: Connection, matches: Sequence[GroupedMatch], failing_offsets: Collection[int], hidden: Hidden
    ) -> None:
        waiting_matches = [
            Waiting(*match, (match.subscription_id,)) for match in matches if match.log_offset in failing_offsets
        ]
        incidents = incidents_of(connection, waiting_matches) if waiting_matches else []
        incident_assets = {one.entity_id for one in incidents}
        self.assets = find_subject_assets(connection, incident_assets | {one.entity_id for one in matches})
        first = min(one.log_offset for one in matches)
        self._reached = reach_by_asset(connection, incident_assets, self.assets, first) if incidents else {}
        hidden_assets = hidden({(one.subscription_id, one.entity_id) for one in incidents})
        self._incidents = [one for one in incidents if (one.subscription_id, one.entity_id) not in hidden_assets]

    def root_of(self, match: GroupedMatch) -> str | None:
        """Return the most upstream asset; the one with the oldest incident of several, and where lineage is a circle.

        None where no failure is upstream.
        """
        own_asset, at = self.assets.of(match.entity_id), match.log_offset
        of_alert = [one for one in self._incidents if one.subscription_id == match.subscription_id]
        open_then = [incident for incident in of_alert if incident.since < at <= incident.until]
        incidents_above = [incident for incident in open_then if self._reaches(incident, own_asset, at)]
        highest = [
            incident for incident in incidents_above if not self._is_downstream_of_others(incident, incidents_above, at)
        ]
        oldest = min(highest or incidents_above, key=lambda incident: incident.since, default=None)
        asset = own_asset if oldest is None else self.assets.of(oldest.entity_id)
        return None if asset == own_asset else asset

    def _is_downstream_of_others(self, incident: Incident, incidents: Sequence[Incident], at: int) -> bool:
        asset = self.assets.of(incident.entity_id)
        return any(self.assets.of(each.entity_id) != asset and self._reaches(each, asset, at) for each in incidents)

    def _reaches(self, incident: Incident, asset: str, at: int) -> bool:
        spans = self._reached.get(asset, {}).get(incident.entity_id, ())
        return any(since <= at <= until for since, until in spans)


def _failure_offsets(connection: Connection, offsets: Collection[int]) -> set[int]:
    """Return which of these events report a failure."""
    query = select(status_report.c.log_offset, status_report.c.verdict).where(status_report.c.verdict.is_not(None))
    reports = rows_by_key(connection, query, status_report.c.log_offset, offsets)
    return {row.log_offset for row in reports if is_failure(row.verdict)}
