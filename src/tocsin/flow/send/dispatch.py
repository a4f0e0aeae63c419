"""Dispatches: the input of one delivery attempt, with the delivery, its event, its reasons and its route.

``store/outbox/deliveries.py`` reads these; ``flow/send/channels`` take them. Next: ``flow/send/webhook_payload.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from tocsin.model.change import ChangeEvent
from tocsin.model.delivery import Delivery, Outcome
from tocsin.model.notification import Reason
from tocsin.model.subscription import Destination


@dataclass(frozen=True)
class Dispatch:
    """A claimed delivery with its event and reasons.

    ``recipient_id`` is the user it is for, if it is one; ``recipient_gone``: that user no longer exists.
    """

    delivery: Delivery
    event: ChangeEvent
    reasons: tuple[Reason, ...] = ()
    recipient_gone: bool = False
    recipient_id: str | None = None


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
