"""Setup of senders: what each is opened with, in a worker as in a test send or a rehearsal.

Next: ``delivery/channels/senders.py``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from tocsin.delivery.dispatch import Sender
from tocsin.delivery.transport.request import Recorder
from tocsin.model.push_browser import PushBrowser
from tocsin.settings import Settings


@dataclass(frozen=True)
class PushSetup:
    """What web push is sent with: the server's key in PEM, and the browsers of people.

    ``browsers_of`` finds those of a person by id and time (epoch ms), ``forget`` one that has
    unsubscribed, unless its session has subscribed anew meanwhile.
    """

    key: str = field(repr=False)
    browsers_of: Callable[[str, int], Awaitable[Sequence[PushBrowser]]]
    forget: Callable[[PushBrowser], Awaitable[None]]


@dataclass(frozen=True)
class SenderSetup:
    """What a sender is opened with.

    ``link_key`` signs links to mute and to unsubscribe; without it there are none. With a ``recorder`` nothing is sent.
    Without ``push`` nothing can be sent to browsers.
    """

    settings: Settings
    link_key: bytes = field(default=b"", repr=False)
    recorder: Recorder | None = None
    push: PushSetup | None = None


OpenSender = Callable[[SenderSetup], AbstractAsyncContextManager[Sender]]
"""Opens the sender."""
