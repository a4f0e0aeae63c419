"""Own addresses: the webhook that a person or team has for a channel in the profile, as a target of messages.

A target names the holder, and who set the address: that person reads what is sent there. The address itself is a
secret, looked up when something is sent. Source: OpenMetadata's ``type/profile.json``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from tocsin.model.address import MASK
from tocsin.model.subscription import Channel

OWN_KEYS = {Channel.SLACK: "slack", Channel.MS_TEAMS: "msTeams", Channel.G_CHAT: "gChat", Channel.WEBHOOK: "generic"}
"""Per channel, the key of ``profile.subscription`` that holds the address."""

SETTERS = "addressSetters"
"""As what the ids of those who set the addresses of a person or team are attached to it, by key."""

_BEGINNING = "own"


class OwnAddress(NamedTuple):
    """Who has an address of their own, and the id of who set it."""

    holder_type: str
    holder_id: str
    setter_id: str

    def target(self) -> str:
        """Return the target of messages to it."""
        return ":".join((_BEGINNING, *self))


def own_address_of(target: str) -> OwnAddress | None:
    """Return the own address that a target names; None where it is another one."""
    beginning, *parts = target.split(":")
    return OwnAddress(*parts) if beginning == _BEGINNING and len(parts) == len(OwnAddress._fields) else None


def shown_target(target: str) -> str:
    """Return a target as people read it: of an own address, whose it is; a masked one without its destination's id."""
    own_address = own_address_of(target)
    if own_address is not None:
        return f"{own_address.holder_type} {own_address.holder_id}"
    address = target.rpartition("#")[0]
    return address if MASK in address else target


def named_target(address: str, names: Collection[str]) -> str:
    """Return whom a message tells behind what its destinations are called: ``#data-alerts (https://…)``."""
    return f"{', '.join(names)} ({address})" if names else address
