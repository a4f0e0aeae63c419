"""Alerts that other alerts trigger: what an alert matches, they match as well.

A triggered alert notifies its own recipients, as if the event had met its conditions; those are not asked. It must be
enabled, and the event must come after it was created or last enabled. Next: ``jobs/resolving.py``.
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
    known = {one: sorted(links.keys() & set(own.triggers)) for one, own in links.items()}
    return {
        one: tuple(Triggered(other, links[other].since_offset) for other in others)
        for one, others in known.items()
        if others
    }


def path_between(begin: str, end: str, links: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the shortest way by which one alert triggers another, both included; empty if it does not."""
    came_from: dict[str, str] = {begin: begin}
    waiting = [begin]
    for one in waiting:
        for other in links.get(one, ()):
            if other not in came_from:
                came_from[other] = one
                waiting.append(other)
    if end not in came_from:
        return []
    way = [end]
    while way[-1] != begin:
        way.append(came_from[way[-1]])
    return way[::-1]


def with_triggered(
    asked: Mapping[str, int], offset: int, cascades: Cascades, barred: Collection[str] = ()
) -> tuple[dict[str, int], dict[str, str]]:
    """Return what an event matches, with what that triggers; and whose match triggered each of these.

    ``asked`` holds, by alert that the event at ``offset`` matches, the answers accepted to what that asks of people.
    An alert that is ``barred`` neither is triggered nor triggers others.
    """
    found, by = dict(asked), dict[str, str]()
    for one in sorted(asked):
        for triggered in _reached(one, cascades, barred):
            if triggered.since_offset <= offset and triggered.subscription_id not in found:
                found[triggered.subscription_id] = EVERYBODY
                by[triggered.subscription_id] = one
    return found, by


def _reached(begin: str, cascades: Cascades, barred: Collection[str]) -> Iterator[Triggered]:
    """Yield what an alert triggers, directly and through others; a loop ends where it began."""
    seen, waiting = {begin, *barred}, [begin]
    while waiting:
        for triggered in cascades.get(waiting.pop(), ()):
            if triggered.subscription_id not in seen:
                seen.add(triggered.subscription_id)
                waiting.append(triggered.subscription_id)
                yield triggered
