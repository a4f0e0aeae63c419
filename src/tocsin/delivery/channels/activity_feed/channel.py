"""ActivityFeed: the inbox in Tocsin. A notification's row is its delivery, so nothing is sent."""

from __future__ import annotations

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.model.subscription import Category, Channel, Destination


def _accept(destination: Destination, place: str) -> None:
    """Accept any configuration: there is nothing to configure."""


ACTIVITY_FEED = ChannelType(
    channel=Channel.ACTIVITY_FEED,
    phrase="in the app",
    categories=frozenset(Category) - {Category.EXTERNAL},
    check=_accept,
    targets=lambda _destination: (),
    config_keys=frozenset(),
)
