"""Setup of senders: what each is opened with, in a worker as in a test send or a rehearsal.

Next: ``delivery/channels/senders.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from tocsin.delivery.dispatch import Sender
from tocsin.delivery.transport.request import Recorder
from tocsin.settings import Settings


@dataclass(frozen=True)
class SenderSetup:
    """What a sender is opened with.

    ``link_key`` signs links to mute and to unsubscribe; without it there are none. With a ``recorder`` nothing is sent.
    """

    settings: Settings
    link_key: bytes = field(default=b"", repr=False)
    recorder: Recorder | None = None


OpenSender = Callable[[SenderSetup], AbstractAsyncContextManager[Sender]]
"""Opens the sender."""
