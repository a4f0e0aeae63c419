"""Email: one mail per recipient and event or digest, over the mail server of the settings.

Next: ``delivery/channels/email/sender.py``.
"""

from __future__ import annotations

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.errors import InvalidInput
from tocsin.model.subscription import Category, Channel, Destination


def _check(destination: Destination, place: str) -> None:
    if destination.category is Category.EXTERNAL and not _addresses(destination):
        raise InvalidInput("external e-mail needs at least one address", field=f"{place}.receivers")


def _addresses(destination: Destination) -> tuple[str, ...]:
    return tuple(receiver for receiver in destination.config.receivers if "@" in receiver)


EMAIL = ChannelType(
    channel=Channel.EMAIL,
    phrase="by mail",
    categories=frozenset(Category),
    check=_check,
    targets=_addresses,
    config_keys=frozenset(),
    threads=True,
)
