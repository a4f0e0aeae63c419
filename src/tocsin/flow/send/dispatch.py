"""Dispatches: the input of one delivery attempt, with the message, the notifications in it and its route.

``store/outbox/messages.py`` reads these; ``flow/send/channels`` take them. Next: ``flow/send/webhook_payload.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from tocsin.model.change import ChangeEvent
from tocsin.model.message import Entry, Message, Outcome
from tocsin.model.notification import Reason
from tocsin.model.subscription import Destination


@dataclass(frozen=True)
class Dispatch:
    """A claimed message with its notifications, in log order: at least one.

    ``recipient_id`` is the user it is for, if it is one; ``recipient_gone``: that user no longer exists.
    """

    message: Message
    entries: tuple[Entry, ...]
    recipient_gone: bool = False
    recipient_id: str | None = None

    @property
    def first(self) -> Entry:
        """Return the notification that comes first in the log; of most messages it is the only one."""
        return self.entries[0]

    @property
    def event(self) -> ChangeEvent:
        """Return the event of the first notification."""
        return self.first.event

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Return the reasons of the first notification."""
        return self.first.reasons


@dataclass(frozen=True)
class Route:
    """A destination as it is set up now.

    ``retries`` counts the attempts after the first. ``closed_because`` says why nothing may be sent
    there; ``None`` while it is open. ``waits_because`` says why nothing can be sent for now.
    """

    destination: Destination = field(repr=False)
    retries: int = 3
    closed_because: str | None = None
    waits_because: str | None = None


class Sender(Protocol):
    """A delivery channel. Never raises for what the remote did, never waits between attempts."""

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        """Make one attempt and say how it ended."""
        ...


def why(reasons: tuple[Reason, ...]) -> str:
    """Return all reasons as one sentence."""
    return "; ".join(dict.fromkeys(reason.sentence() for reason in reasons))
