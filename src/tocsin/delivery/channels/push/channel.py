"""Push: messages to the browsers in which a person takes them, whether or not a tab of Tocsin is open.

It reaches people and nobody else; there is nothing to configure. Next: ``delivery/channels/push/sender.py``.
"""

from __future__ import annotations

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.model.subscription import Category, Channel

PUSH = ChannelType(
    channel=Channel.PUSH,
    phrase="in the browser",
    categories=frozenset(Category) - {Category.EXTERNAL},
    config_keys=frozenset(),
)
