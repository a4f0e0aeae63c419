"""ActivityFeed: the inbox in Tocsin. A notification's row is its delivery, so nothing is sent."""

from __future__ import annotations

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.model.subscription import Category, Channel

ACTIVITY_FEED = ChannelType(
    channel=Channel.ACTIVITY_FEED,
    phrase="in the app",
    categories=frozenset(Category) - {Category.EXTERNAL},
    config_keys=frozenset(),
)
