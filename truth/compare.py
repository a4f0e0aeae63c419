"""Differences between what must be stored and what is, per event, recipient and channel.

Next: ``truth/explained.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from truth.expected import Address, Expectation, Notifications, Reason
from truth.facts import Event
from truth.failures import Incident


class Kind(StrEnum):
    """What differs: the log, a stored notification, or what is said of those that are stored."""

    EVENT = "event"
    MISSING = "missing"
    EXTRA = "extra"
    WRONG_REASON = "wrong reason"
    EXPLAIN = "explain"
    BACKTEST = "backtest"
    NOISE = "noise"
    AUDIT = "audit"
    SCHEDULE = "schedule"
    INCIDENT = "incident"


_OF_THE_STORE = (Kind.EVENT, Kind.MISSING, Kind.EXTRA, Kind.WRONG_REASON, Kind.SCHEDULE, Kind.INCIDENT)


@dataclass(frozen=True)
class Difference:
    """One thing that differs.

    ``number`` is the event's place among those of the replay, 0 where it concerns none. ``right`` is what must be
    stored, or for an answer of the product's what is; ``actual`` is what is stored or answered instead.
    """

    kind: Kind
    number: int
    about: str
    channel: str = ""
    recipient: str = ""
    right: str = ""
    actual: str = ""

    def text(self) -> str:
        """Return it as a few lines to read."""
        lines = [f"{self.kind}: event {self.number}, {self.about}"]
        if self.recipient:
            lines.append(f"    {self.recipient} over {self.channel}")
        names = ("expected", "stored") if self.kind in _OF_THE_STORE else ("stored", "answered")
        lines += [f"    {name}: {value}" for name, value in zip(names, (self.right, self.actual), strict=True) if value]
        return "\n".join(lines)


def differences(expectation: Expectation, stored: Notifications, events: Iterable[Event]) -> Iterator[Difference]:
    """Yield every difference, in the order of the log."""
    events_by_id = {event.id: (number, about(event)) for number, event in enumerate(events, 1)}
    yield from (Difference(Kind.EVENT, 0, one) for one in expectation.surprises)
    due = expectation.notifications
    for address in sorted(due.keys() | stored.keys(), key=lambda one: (events_by_id.get(one[0], (0, ""))[0], one)):
        if due.get(address) != stored.get(address):
            yield _difference(
                address, due.get(address), stored.get(address), *events_by_id.get(address[0], (0, "unknown"))
            )


def _difference(
    address: Address, due: frozenset[Reason] | None, stored: frozenset[Reason] | None, number: int, words: str
) -> Difference:
    kind = Kind.MISSING if stored is None else Kind.EXTRA if due is None else Kind.WRONG_REASON
    only_due, only_stored = (
        (due or frozenset()) - (stored or frozenset()),
        (stored or frozenset()) - (due or frozenset()),
    )
    return Difference(kind, number, words, address[1], address[2], texts(only_due), texts(only_stored))


def about(event: Event) -> str:
    """Return an event in words, with its id."""
    paths = ", ".join(sorted(event.paths)[:5])
    return f"{event.event_type} of {event.key[0]} {event.key[1]} by {event.actor} ({paths}) {event.id}"


def texts(reasons: Iterable[Reason]) -> str:
    """Return reasons in words."""
    return "; ".join(_text(one) for one in sorted(reasons))


def _text(reason: Reason) -> str:
    parts = [f"{reason.kind} by {reason.alert}[{reason.at}]"]
    parts += [f"team {reason.team}"] if reason.team else []
    parts += [f"through {reason.through}"] if reason.through else []
    parts += [f"via {reason.via}, {reason.hops} hops"] if reason.hops else []
    return " ".join(parts)


def unlike_incidents(expected: Iterable[Incident], stored: Mapping[int, Incident]) -> Iterator[Difference]:
    """Yield incidents that are missing or too many; ``stored`` are known by their numbers, which have no gaps."""
    due, stored_incidents = set(expected), set(stored.values())
    yield from (
        Difference(Kind.INCIDENT, 0, f"of {sorted(incident.watchers)}", right=str(incident))
        for incident in sorted(due - stored_incidents, key=str)
    )
    yield from (
        Difference(Kind.INCIDENT, 0, f"of {sorted(incident.watchers)}", actual=str(incident))
        for incident in sorted(stored_incidents - due, key=str)
    )
    if sorted(stored) != list(range(1, len(stored) + 1)):
        yield Difference(Kind.INCIDENT, 0, "numbers", right="without gaps", actual=str(sorted(stored))[:200])
