"""Google Chat: one card per event or digest to the incoming webhook of a space.

The whole address is secret: key and token are in its query. Next: ``delivery/channels/google_chat/sender.py``.
"""

from __future__ import annotations

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.delivery.channels.endpoints import check_endpoint, endpoint_of
from tocsin.delivery.channels.webhook.authentication import check_authentication
from tocsin.model.subscription import Category, Channel, Destination


def _check(destination: Destination, place: str) -> None:
    check_endpoint(destination.config.endpoint, f"{place}.endpoint")
    check_authentication(destination.config, place)


GOOGLE_CHAT = ChannelType(
    channel=Channel.G_CHAT,
    phrase="in Google Chat",
    categories=frozenset({Category.EXTERNAL, Category.OWNERS, Category.TEAMS}),
    check=_check,
    targets=endpoint_of,
    threads=True,
    interval_s=1.0,
    config_keys=frozenset({"endpoint", "auth_type"}),
)
