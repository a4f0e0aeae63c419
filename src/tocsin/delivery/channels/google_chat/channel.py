"""Google Chat: one card per event or digest to the incoming webhook of a space.

The whole address is secret: key and token are in its query. Next: ``delivery/channels/google_chat/sender.py``.
"""

from __future__ import annotations

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.delivery.channels.endpoints import endpoint_of
from tocsin.delivery.channels.webhook.authentication import check_posting
from tocsin.model.subscription import Category, Channel

GOOGLE_CHAT = ChannelType(
    channel=Channel.G_CHAT,
    phrase="in Google Chat",
    categories=frozenset(Category),
    check=check_posting,
    targets=endpoint_of,
    threads=True,
    interval_s=1.0,
    config_keys=frozenset({"endpoint", "auth_type"}),
)
