"""Second model of incidents: which failures open one, which alerts watch it, and which success resolves it.

Written from ``docs/incidents.md``. Next: ``truth/passing_time.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from truth.facts import Event


class Incident(NamedTuple):
    """An incident of an asset (by its id), with the events that opened and resolved it, and alerts that watch it."""

    asset_id: str
    opened_by: str
    watchers: frozenset[str]
    resolved_by: str | None = None


def incidents_of(
    events: Iterable[Event], firings: Mapping[str, set[str]], opening: Iterable[str]
) -> Iterator[Incident]:
    """Yield the incidents that must be, in no order: of assets with a failure that an alert in ``opening`` matched."""
    alerts, is_open = tuple(opening), dict[str, Incident]()
    for event in events:
        if event.status == "Success":
            if incident := is_open.pop(event.entity_id, None):
                yield incident._replace(resolved_by=event.id)
        elif event.status and (matching := frozenset(one for one in alerts if event.id in firings.get(one, ()))):
            incident = is_open.get(event.entity_id) or Incident(event.entity_id, event.id, frozenset())
            is_open[event.entity_id] = incident._replace(watchers=incident.watchers | matching)
    yield from is_open.values()
