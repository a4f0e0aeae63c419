"""Own addresses: the webhook that a person or team has for a channel in the profile, as a target of messages.

A target names the holder, and who set the address: that person reads what is sent there. The address itself is a
secret, looked up when something is sent. Source: OpenMetadata's ``type/profile.json``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pydantic import Field

from tocsin.model.address import MASK
from tocsin.model.entity import Document, WireModel
from tocsin.model.secret import PROFILE, SUBSCRIPTION
from tocsin.model.subscription import Channel

OWN_KEYS = {Channel.SLACK: "slack", Channel.MS_TEAMS: "msTeams", Channel.G_CHAT: "gChat", Channel.WEBHOOK: "generic"}
"""Per channel, the key of ``profile.subscription`` that holds the address."""

SETTERS = "addressSetters"
"""As what the ids of those who set the addresses of a person or team are attached to it, by key."""

VERIFIED = "verifiedAddresses"
"""As what it is attached to a person or team, by key, when and how an address was verified: only then it is used."""

CODES = "addressCodes"
"""As what the codes that were sent to addresses are attached to their person or team, by key; only hashes."""

CODE_LIFE_MS = 15 * 60_000
"""How long a code that was sent to an address may be entered."""

MOST_TRIES = 5
"""How often a code may be entered."""

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


def is_of_holder(channel: str, target: str) -> bool:
    """Return whether one person or team decides where messages go: to their own address, or to their browsers."""
    return channel == Channel.PUSH or own_address_of(target) is not None


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


def stored_addresses(document: Document) -> dict[str, Document]:
    """Return the own addresses in a person's or team's document by key, those that are none left out."""
    profile = document.get(PROFILE)
    addresses = profile.get(SUBSCRIPTION) if isinstance(profile, dict) else None
    configs = addresses.items() if isinstance(addresses, dict) else ()
    return {key: config for key, config in configs if isinstance(config, dict) and config.get("endpoint")}


def with_addresses(profile: object, addresses: Document, *, overrides: Document | None = None) -> object:
    """Return a profile with these addresses where it does not name them, and ``overrides`` whatever it names.

    What is no profile stays as it is: its shape is refused.
    """
    parts = {} if profile is None else profile
    if not isinstance(parts, dict) or not isinstance(own_addresses := parts.get(SUBSCRIPTION) or {}, dict):
        return profile
    return parts | {SUBSCRIPTION: addresses | own_addresses | (overrides or {})}


@dataclass(frozen=True)
class SentCode:
    """A code on its way: until when it may be entered (epoch milliseconds), and how often still."""

    expires_at_ms: int
    tries_left: int


@dataclass(frozen=True)
class AddressState:
    """An own address, masked, who set it, and whether it was verified.

    ``verified_at_ms`` (epoch milliseconds) is None while it is not: then nothing is sent there. ``message_id`` is the
    message whose code verified it; None for one that was in use before addresses were verified.
    """

    channel: Channel
    address: str
    setter_id: str | None
    verified_at_ms: int | None = None
    message_id: str | None = None
    code: SentCode | None = None


class OwnAddressRequest(WireModel):
    """Where messages go: an incoming webhook of a chat, or a webhook, whose ``authType`` signs them."""

    endpoint: str = Field(min_length=1, max_length=4_000)
    headers: dict[str, str] | None = None
    query_params: dict[str, str] | None = None
    http_method: Literal["POST", "PUT"] | None = None
    auth_type: Document | None = None


class AddressCode(WireModel):
    """The code that a message to an address holds; case, spaces and dashes do not matter."""

    code: str = Field(min_length=1, max_length=64)
