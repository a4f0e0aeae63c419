"""Channel type: what a channel's configuration holds and whom it can address; the folder of each channel defines one.

It connects to nothing: the API, explanations and the masking of secrets read it in every process.
Next: ``delivery/channels/table.py``; what sends is in ``delivery/channels/senders.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tocsin.model.subscription import Category, Channel, Destination

Check = Callable[[Destination, str], None]
"""Reports what is wrong with the configuration of a destination at a place of the request; raises ``InvalidInput``."""


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
    interval_s : the least seconds between two messages of a worker to one address, as the vendor asks
    threads : whether a message can answer an earlier one
    changes_in_place : says whether a message to a destination can be changed after it was sent
    mentions : says whether messages to a destination can mention the owners of the asset
    config_keys : parts of the configuration that it reads, beside those that name people; others are refused
    secret_maps : keys of the configuration below which every value is secret, and what is not, by its name there
    secret_texts : keys of the configuration whose value is secret; the secret part of an ``endpoint`` always is
    """

    channel: Channel
    phrase: str
    categories: frozenset[Category]
    check: Check = lambda _destination, _place: None
    targets: Callable[[Destination], tuple[str, ...]] = lambda _destination: ()
    interval_s: float = 0.0
    threads: bool = False
    changes_in_place: Callable[[Destination], bool] = lambda _destination: False
    mentions: Callable[[Destination], bool] = lambda _destination: False
    config_keys: frozenset[str] = frozenset({"endpoint"})
    secret_maps: tuple[tuple[str, frozenset[str]], ...] = ()
    secret_texts: tuple[str, ...] = ()
