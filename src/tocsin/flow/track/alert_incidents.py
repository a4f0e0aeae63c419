"""Which failures open which incidents: one for each alert, asset and time without success.

Places in the log decide, not the order in which events are read, so that a repeated or later micro-batch, another query
or another task gives the same incidents. Next: ``store/catalogue/alerts/incidents.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tocsin.conditions.test_results import TEST_SUITE
from tocsin.model.alert_incident import incident_id
from tocsin.model.match_result import Pair

Subject = tuple[str, str]
"""The ids of an alert and of an asset."""


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


class Opening(NamedTuple):
    """An incident that failures open, with the first of them."""

    id: str
    subscription_id: str
    first: Failure


def incidents_to_open(
    pairs: Iterable[Pair], failures: Mapping[int, Failure], resolved: Mapping[Subject, Collection[int]]
) -> list[Opening]:
    """Return the incidents of these matches, in the order of their first failures.

    ``failures`` holds those of the events that are failures, by place; ``resolved`` the places at which a person
    resolved an incident of an alert and asset: what fails after that opens another one. Runs of test suites open none:
    not everybody who may view a suite may view all its tests.
    """
    openings_by_incident: dict[str, list[Opening]] = defaultdict(list)
    for offset, alert in pairs:
        failure = failures.get(offset)
        if failure is None or failure.entity_type == TEST_SUITE:
            continue
        by_hand = (one for one in resolved.get((alert, failure.entity_id), ()) if one < offset)
        identity = incident_id(alert, failure.entity_id, max((failure.after, *by_hand)))
        openings_by_incident[identity].append(Opening(identity, alert, failure))
    first = (min(many, key=_place) for many in openings_by_incident.values())
    return sorted(first, key=_place)


def _place(opening: Opening) -> tuple[int, str]:
    return opening.first.log_offset, opening.subscription_id
