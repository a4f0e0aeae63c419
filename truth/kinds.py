"""Kinds of change that some people of a replay choose a frequency for, and what kinds an event has of these.

Written from ``docs/change-kinds.md`` and ``docs/schedules.md``; it shares no code with Tocsin. What is of no chosen
kind is ``OTHER``: it comes at once. Next: ``truth/schedule.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from truth.facts import Event
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
    """Yield what people prefer: kinds by channel, a zone, for some quiet hours."""
    for person in people:
        kinds = {
            kind: {channel: random.choice(_FREQUENCIES) for channel in ("Email", "ActivityFeed")}
            for kind in random.sample([*CHOSEN, "testFailure", "follower"], random.randrange(1, 6))
        }
        quiet = {"quietHours": {"start": "21:30", "end": "06:15"}} if random.random() < 0.5 else {}
        yield person, {"kinds": kinds, "timezone": random.choice(_ZONES), **quiet}
