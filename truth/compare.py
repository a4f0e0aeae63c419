"""Differences between what must be stored and what is, per event, recipient and channel.

Next: ``truth/__main__.py`` prints them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from truth.expected import Address, Expectation, Notifications, Reason
from truth.facts import Event


@dataclass(frozen=True)
class Difference:
    """One notification that is missing, should not be there, or has the wrong reasons; or something else that differs.

    ``number`` is the event's place among the events of the replay, 0 where it concerns none.
    """

    kind: str
    number: int
    about: str
    channel: str = ""
    recipient: str = ""
    expected: str = ""
    stored: str = ""

    def text(self) -> str:
        """Return it as a few lines to read."""
        lines = [f"{self.kind}: event {self.number}, {self.about}"]
        if self.recipient:
            lines.append(f"    {self.recipient} over {self.channel}")
        lines += [
            f"    {name}: {value}" for name, value in (("expected", self.expected), ("stored", self.stored)) if value
        ]
        return "\n".join(lines)


def differences(expectation: Expectation, stored: Notifications, events: Iterable[Event]) -> Iterator[Difference]:
    """Yield every difference, in the order of the log."""
    known = {event.id: (number, _about(event)) for number, event in enumerate(events, 1)}
    yield from (Difference("event", 0, one) for one in expectation.surprises)
    due = expectation.notifications
    for address in sorted(due.keys() | stored.keys(), key=lambda one: (known.get(one[0], (0, ""))[0], one)):
        if due.get(address) != stored.get(address):
            yield _difference(address, due.get(address), stored.get(address), *known.get(address[0], (0, "unknown")))


def _difference(
    address: Address, due: frozenset[Reason] | None, stored: frozenset[Reason] | None, number: int, about: str
) -> Difference:
    kind = "missing" if stored is None else "unexpected" if due is None else "wrong reasons"
    only_due, only_stored = (
        (due or frozenset()) - (stored or frozenset()),
        (stored or frozenset()) - (due or frozenset()),
    )
    return Difference(kind, number, about, address[1], address[2], _texts(only_due), _texts(only_stored))


def _about(event: Event) -> str:
    paths = ", ".join(sorted(event.paths)[:5])
    return f"{event.event_type} of {event.key[0]} {event.key[1]} by {event.actor} ({paths}) {event.id}"


def _texts(reasons: Iterable[Reason]) -> str:
    return "; ".join(_text(one) for one in sorted(reasons))


def _text(reason: Reason) -> str:
    parts = [f"{reason.kind} by {reason.alert}[{reason.at}]"]
    parts += [f"team {reason.team}"] if reason.team else []
    parts += [f"via {reason.via}, {reason.hops} hops"] if reason.hops else []
    return " ".join(parts)
