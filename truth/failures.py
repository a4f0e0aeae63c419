"""Second model of the incidents of alerts: which failures open one, and which success resolves it.

Written from ``docs/incidents.md``. Next: ``truth/compare.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from truth.compare import Difference, Kind
from truth.facts import Event


class Incident(NamedTuple):
    """An incident of an alert and an asset (by its id), with the events that opened and resolved it."""

    alert: str
    asset_id: str
    opened_by: str
    resolved_by: str | None = None


def incidents_of(
    events: Iterable[Event], firings: Mapping[str, set[str]], opening: Iterable[str]
) -> Iterator[Incident]:
    """Yield the incidents that must be: of each alert in ``opening`` that matched a failure, in no order."""
    alerts, is_open = tuple(opening), dict[tuple[str, str], Incident]()
    for event in events:
        if event.status == "Success":
            for alert in alerts:
                if incident := is_open.pop((alert, event.entity_id), None):
                    yield incident._replace(resolved_by=event.id)
        elif event.status:
            for alert in alerts:
                if event.id in firings.get(alert, ()):
                    is_open.setdefault((alert, event.entity_id), Incident(alert, event.entity_id, event.id))
    yield from is_open.values()


def unlike_incidents(expected: Iterable[Incident], stored: Mapping[int, Incident]) -> Iterator[Difference]:
    """Yield incidents that are missing or too many; ``stored`` are known by their numbers, which have no gaps."""
    due, stored_incidents = set(expected), set(stored.values())
    yield from (
        Difference(Kind.INCIDENT, 0, f"of {incident.alert}", right=str(incident))
        for incident in sorted(due - stored_incidents, key=str)
    )
    yield from (
        Difference(Kind.INCIDENT, 0, f"of {incident.alert}", actual=str(incident))
        for incident in sorted(stored_incidents - due, key=str)
    )
    if sorted(stored) != list(range(1, len(stored) + 1)):
        yield Difference(Kind.INCIDENT, 0, "numbers", right="without gaps", actual=str(sorted(stored))[:200])
