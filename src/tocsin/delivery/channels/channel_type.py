"""Channel type: what the rest of Tocsin needs to know about a channel; the folder of each channel defines one.

It is light: the API, explanations and the masking of secrets read it in every process. What talks to the outside is
imported when a worker opens the sender. Next: ``delivery/channels/table.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from tocsin.delivery.dispatch import Dispatch, Sender
from tocsin.delivery.transport.request import Recorder
from tocsin.model.entity import Document
from tocsin.model.subscription import Category, Channel, Destination, Gathering
from tocsin.settings import Settings

Check = Callable[[Destination, str], None]
"""Reports what is wrong with the configuration of a destination at a place of the request; raises ``InvalidInput``."""


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

Preview = Callable[[Dispatch, str], Document]
"""Returns what would be sent, as JSON; the second argument is where the links in it lead."""


@dataclass(frozen=True)
class ChannelType:
    """One channel of destinations.

    Attributes
    ----------
    channel : its name on the wire
    phrase : how a sentence says it: ``by mail``
    categories : the categories of recipients that it can address
    check : checks a destination's configuration when an alert is saved
    targets : the addresses outside that a destination names itself: what a test of it writes to
    gathering : how one of its messages carries several notifications
    interval_s : the least seconds between two messages of a worker to one address, as the vendor asks
    threads : whether a message can answer an earlier one
    mentions : says whether messages to a destination can mention the owners of the asset
    open_sender : opens what sends; None for what stays inside Tocsin
    preview : shows a message to people as it would be sent; None where templates word none
    config_keys : parts of the configuration that it reads, beside those that name people; others are refused
    secret_maps : keys of the configuration below which every value is secret, and what is not, by its name there
    secret_texts : keys of the configuration whose value is secret; the secret part of an ``endpoint`` always is
    """

    channel: Channel
    phrase: str
    categories: frozenset[Category]
    check: Check
    targets: Callable[[Destination], tuple[str, ...]]
    gathering: Gathering = Gathering.NONE
    interval_s: float = 0.0
    threads: bool = False
    mentions: Callable[[Destination], bool] = lambda _destination: False
    open_sender: OpenSender | None = None
    preview: Preview | None = None
    config_keys: frozenset[str] = frozenset({"endpoint"})
    secret_maps: tuple[tuple[str, frozenset[str]], ...] = ()
    secret_texts: tuple[str, ...] = ()
