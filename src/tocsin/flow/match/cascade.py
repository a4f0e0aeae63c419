"""Alerts that other alerts trigger: what an alert matches, they match as well.

A triggered alert notifies its own recipients, as if the event had met its conditions; those are not asked. It must be
enabled, and the event must come after it was created or last enabled. Next: ``flow/pipeline.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from tocsin.conditions.relations import EVERYBODY
from tocsin.model.subscription import EventSubscription

Cascades = Mapping[str, tuple["Triggered", ...]]
"""The alerts that an alert triggers directly, by its id."""


class Triggered(NamedTuple):
    """An enabled alert that is triggered, and the first log offset that it covers."""

    subscription_id: str
    since_offset: int


class Links(NamedTuple):
    """What cascades need of an enabled alert: the first log offset that it covers, and the alerts that it triggers."""

    since_offset: int
    triggers: tuple[str, ...]


def links_of(subscription: EventSubscription) -> Links:
    """Return the links of an alert."""
    return Links(subscription.since_offset, tuple(one.id for one in subscription.triggers))


def cascades_of(links: Mapping[str, Links]) -> dict[str, tuple[Triggered, ...]]:
    """Return the cascades of these alerts, of those that trigger any; one that is not among them triggers nothing."""
    triggered_by_alert = {alert_id: sorted(links.keys() & set(own.triggers)) for alert_id, own in links.items()}
    return {
        alert_id: tuple(Triggered(other, links[other].since_offset) for other in triggered_ids)
        for alert_id, triggered_ids in triggered_by_alert.items()
        if triggered_ids
    }


def path_between(begin: str, end: str, links: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the shortest way by which one alert triggers another, both included; empty if it does not."""
    came_from: dict[str, str] = {begin: begin}
    alerts_to_visit = [begin]
    for alert_id in alerts_to_visit:
        for triggered_id in links.get(alert_id, ()):
            if triggered_id not in came_from:
                came_from[triggered_id] = alert_id
                alerts_to_visit.append(triggered_id)
    if end not in came_from:
        return []
    way = [end]
    while way[-1] != begin:
        way.append(came_from[way[-1]])
    return way[::-1]


def with_triggered(
    accepted: Mapping[str, int], offset: int, cascades: Cascades, barred: Collection[str] = ()
) -> tuple[dict[str, int], dict[str, str]]:
    """Return what an event matches, with what that triggers; and whose match triggered each of these.

    ``accepted`` holds, by alert that the event at ``offset`` matches, the answers accepted to what that asks of people.
    An alert that is ``barred`` neither is triggered nor triggers others.
    """
    matches, by = dict(accepted), dict[str, str]()
    for alert_id in sorted(accepted):
        for triggered_alert in _reachable_alerts(alert_id, cascades, barred):
            if triggered_alert.since_offset <= offset and triggered_alert.subscription_id not in matches:
                matches[triggered_alert.subscription_id] = EVERYBODY
                by[triggered_alert.subscription_id] = alert_id
    return matches, by


def _reachable_alerts(begin: str, cascades: Cascades, barred: Collection[str]) -> Iterator[Triggered]:
    """Yield what an alert triggers, directly and through others; a loop ends where it began."""
    visited, waiting = {begin, *barred}, [begin]
    while waiting:
        for triggered in cascades.get(waiting.pop(), ()):
            if triggered.subscription_id not in visited:
                visited.add(triggered.subscription_id)
                waiting.append(triggered.subscription_id)
                yield triggered
