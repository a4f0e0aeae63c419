"""Kinds of change that some people of a replay choose a frequency for, and what kinds an event has of these.

Written from ``docs/change-kinds.md`` and ``docs/schedules.md``; it shares no code with Tocsin. What is of no chosen
kind is ``OTHER``: it comes at once. Next: ``truth/schedule.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from truth.facts import Event
from truth.frequencies import ROLES
from truth.history import Json
from truth.job_events import CHECK

OTHER = "other kinds"
CHOSEN = ("description", "owner", "lineage", "domain", "deletion", "softDeletion", "restoration", "creation")
"""Kinds that are chosen, some of them by each person; ``testFailure`` and ``follower`` are as well."""

_OF_TYPES = {
    "entityCreated": "creation",
    "entityDeleted": "deletion",
    "entitySoftDeleted": "softDeletion",
    "entityRestored": "restoration",
    "testCaseFailure": "testFailure",
}
_OF_FIELDS = {
    "description": "description",
    "owners": "owner",
    "lineage": "lineage",
    "domains": "domain",
    "followers": "follower",
}
_FREQUENCIES = (
    "immediate",
    "hourly",
    "daily",
    "daily 05:45",
    "weekly",
    "weekly friday",
    "weekly sunday 23:10",
    "never",
)
_CHANNELS = ("Email", "ActivityFeed")
_ZONES = ("UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York", "Australia/Lord_Howe")


def kinds_of(event: Event) -> frozenset[str]:
    """Return the chosen kinds that an event has, and ``OTHER`` if it has another one."""
    if event.key[0] in ("thread", "eventsubscription"):
        return frozenset({OTHER})
    if event.event_type in _OF_TYPES:
        return frozenset({_OF_TYPES[event.event_type]})
    if event.event_type == CHECK:
        return frozenset("testFailure" if path == "stillFailing" else OTHER for path in event.paths)
    if event.event_type != "entityUpdated" or event.status:
        return frozenset({OTHER})
    return frozenset(_kind_of_path(path) for path in event.paths) or frozenset({OTHER})


def _kind_of_path(path: str) -> str:
    """Return the kind of a changed field; of a column only its description has one of these."""
    first, *inner_names = path.split(".")
    if inner_names:
        return "description" if inner_names[-1] == "description" else OTHER
    return _OF_FIELDS.get(first, OTHER)


def random_preferences(people: Iterator[str], random: Random) -> Iterator[tuple[str, Json]]:
    """Yield what people prefer: kinds by channel, for some by role as well, a zone, for some quiet hours."""
    for person in people:
        quiet = {"quietHours": {"start": "21:30", "end": "06:15"}} if random.random() < 0.5 else {}
        roles = {role: _random_kinds(random, 5) for role in random.sample(ROLES, random.randrange(0, 4))}
        document = {"kinds": _random_kinds(random, 6), "timezone": random.choice(_ZONES), **quiet}
        yield person, document | ({"roles": roles} if roles else {})


def random_choices(random: Random) -> Json:
    """Return what a person chooses for one follow: some kinds, or how often everything else comes, or both."""
    channels = {channel: random.choice(_FREQUENCIES) for channel in random.sample(_CHANNELS, random.randrange(0, 3))}
    kinds = _random_kinds(random, 4) if not channels or random.random() < 0.5 else {}
    return {name: table for name, table in (("kinds", kinds), ("channels", channels)) if table}


def _random_kinds(random: Random, end: int) -> Json:
    """Return so many kinds less one at most, each with how often it comes over each channel."""
    kinds = random.sample([*CHOSEN, "testFailure", "follower"], random.randrange(1, end))
    return {kind: {channel: random.choice(_FREQUENCIES) for channel in _CHANNELS} for kind in kinds}
