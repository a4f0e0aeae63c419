"""Which failures open which incidents: one for each asset and time without success, watched by all alerts that match.

Places in the log decide, not the order in which events are read, so that a repeated or later micro-batch, another query
or another task gives the same incidents. Next: ``store/catalogue/alerts/incidents.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from tocsin.conditions.test_results import TEST_SUITE
from tocsin.model.alert_incident import incident_id
from tocsin.model.match_result import Pair


@dataclass(frozen=True)
class IncidentWork:
    """What some matches mean for incidents: events and alerts that may open some, and assets that report a success."""

    failing: tuple[Pair, ...] = ()
    recovering: frozenset[str] = frozenset()
    now_ms: int = 0


NO_WORK = IncidentWork()


class Failure(NamedTuple):
    """A reported failure at its place in the log.

    ``after`` is the place of the asset's last success before it (0: none), ``until`` that of the next one.
    """

    log_offset: int
    event_id: str
    entity_id: str
    entity_type: str
    at_ms: int
    after: int
    until: int | None


class KnownIncident(NamedTuple):
    """An incident that is stored: the places in the log of its first failure, and of what ended it."""

    id: str
    opened_offset: int
    ended_offset: int | None


class Opening(NamedTuple):
    """An incident that failures belong to, with the first of them, and the first of each alert that matched some.

    ``known_offset`` is where a stored incident begins; None: it has to be opened.
    """

    id: str
    first: Failure
    watchers: Mapping[str, int]
    known_offset: int | None


def incidents_to_open(
    pairs: Iterable[Pair], failures: Mapping[int, Failure], incidents_by_asset: Mapping[str, Sequence[KnownIncident]]
) -> list[Opening]:
    """Return the incidents of these matches, in the order of their first failures.

    ``failures`` holds those of the events that are failures, by place; ``incidents_by_asset`` the stored incidents that
    are not over before the first of them. Runs of test suites open none: not everybody who may view a suite may view
    all its tests.
    """
    watchers, openings = defaultdict[str, dict[str, int]](dict), dict[str, Opening]()
    for offset, alert in sorted(pairs):
        failure = failures.get(offset)
        if failure is None or failure.entity_type == TEST_SUITE:
            continue
        stored = incidents_by_asset.get(failure.entity_id, ())
        incident = _stored_incident(failure, stored)
        identity = _new_id(failure, stored) if incident is None else incident.id
        watchers[identity].setdefault(alert, offset)
        known_offset = None if incident is None else incident.opened_offset
        openings.setdefault(identity, Opening(identity, failure, watchers[identity], known_offset))
    return list(openings.values())


def _stored_incident(failure: Failure, stored: Sequence[KnownIncident]) -> KnownIncident | None:
    """Return the incident that lasts at the place of a failure, else the next before a success: it begins earlier."""
    offset = failure.log_offset
    until = failure.until or inf
    same_time = [incident for incident in stored if failure.after < incident.opened_offset < until]
    lasting = [each for each in same_time if each.opened_offset <= offset < (each.ended_offset or inf)]
    later = [each for each in same_time if each.opened_offset > offset]
    return min(lasting or later, key=lambda incident: incident.opened_offset, default=None)


def _new_id(failure: Failure, stored: Sequence[KnownIncident]) -> str:
    """Return the id of an incident that begins after the last success, or after a person resolved another one."""
    ended = (one.ended_offset for one in stored if one.ended_offset and one.ended_offset < failure.log_offset)
    return incident_id(failure.entity_id, max((failure.after, *ended)))
