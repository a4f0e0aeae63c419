"""Notifications: one per (event, recipient, channel), its reasons merged.

Next: ``model/message.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import sha1
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from tocsin.model import fqn
from tocsin.model.entity import WireModel
from tocsin.model.phrases import count_text, in_words
from tocsin.model.roles import AssetRole

NAMESPACE = UUID("6ba1d5a6-7c0f-5a5b-9a53-7f2f0d6c7a11")
"""Root of every deterministic id: writing a derived row twice writes it once."""

_MOST_STEPS = 1_000
"""More than any FQN has."""

_ORDERED = "8"
"""Version digit of ids that begin with an offset. Source: RFC 9562, 5.8."""

_VERSION_AT = 14
"""Where an id has its version digit: behind the first 12 hexadecimal digits, with their dashes."""

_ROOT = NAMESPACE.bytes
_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


class ReasonKind(StrEnum):
    """Kind of reason for a notification."""

    OWNER = "owner"
    FOLLOWER = "follower"
    CREATOR = "creator"
    ASSIGNEE = "assignee"
    MENTION = "mention"
    PARTICIPANT = "participant"
    ASKED = "asked"
    USER = "user"
    TEAM = "team"
    ADMIN = "admin"
    EXTERNAL = "external"


class ReasonContext(NamedTuple):
    """What sentences of reasons say of their event.

    Attributes
    ----------
    subject : what its entity is about: the table of a test, the asset of a thread
    is_inherited : the owners of the changed asset are those of its container
    tells_author : it tells the author of a change request what became of it, and asks nobody else
    request_clauses : why a change request asks its reader, by the name of a reason's team, None for the person:
        ``you own orders_daily, which reads orders.status``; empty where that is not known
    """

    subject: str = "it"
    is_inherited: bool = False
    tells_author: bool = False
    request_clauses: Mapping[str | None, str] = MappingProxyType({})


_NO_CONTEXT = ReasonContext()


class Followed(WireModel):
    """What a person follows in place of the asset that belongs to it: a schema, a glossary, an owner, a tag.

    ``id`` and FQN are None where it is hidden from the reader, the FQN also where it is gone and nobody kept its name.
    ``relation`` is ``owner`` where it owns the asset, ``label`` where the asset carries it, ``column``
    where it is one of its columns (the id and type are then the asset's), ``shown`` where it is a dashboard that shows
    the asset, ``used`` where it is one that uses the asset, None where it contains it.
    """

    type: str
    id: str | None = None
    fully_qualified_name: str | None = None
    relation: str | None = None

    @property
    def in_words(self) -> str:
        """Return what people call it: ``the database schema shop.public``."""
        return " ".join(filter(None, ("the", in_words(self.type), self.fully_qualified_name)))

    def with_asset(self, asset: str) -> str:
        """Return it with what it is to an asset: ``the database schema shop.public, which contains it``."""
        match self.relation:
            case "owner":
                return f"{self.in_words}, {'who' if self.type == 'user' else 'which'} owns {asset}"
            case "label":
                return f"{self.in_words}, which {asset} carries"
            case "shown":
                return f"{self.in_words}, which shows {asset}"
            case "used":
                return f"{self.in_words}, which uses {asset}"
            case "column":
                name = fqn.steps_of(self.fully_qualified_name)[-1] if self.fully_qualified_name else None
                return f"{f'the column {name}' if name else 'a column'} of {asset}"
            case _:
                return f"{self.in_words}, which contains {asset}"


def directness(through: Followed | None) -> tuple[int, str, str]:
    """Return what ways of following an asset are ordered by: itself, then what contains it, the nearest first."""
    if through is None:
        return 0, "", ""
    name = through.fully_qualified_name or ""
    return _MOST_STEPS - len(fqn.steps_of(name)) if name else _MOST_STEPS, through.type, through.id or ""


class Reason(WireModel):
    """One reason for a notification.

    ``via`` is the FQN of the downstream asset that connects the recipient to the change, None where it is hidden from
    the reader, and ``hops`` its distance (0: the changed asset itself); ``team`` names the team through which they are
    concerned, empty where a hidden one follows. ``of_subject``: they are so related to what the changed entity is
    about, the table of a test or the asset of a thread. ``met`` is the relation that a condition on the recipient asked
    of whom an alert names: ``follows``, ``owns``, ``isMemberOf:shop``. ``through`` is what they follow that contains
    the asset, None where they follow the asset itself. ``held_by`` names the incident that holds the alert back from
    now on; ``downstream_of`` is the full name of the asset upstream whose failure this one follows, empty where it is
    hidden. ``states`` are those that the alert asks for at the times of its schedule: ``stillFailing``. ``search`` is
    what its owner calls the saved search that the alert is of. ``follow`` is the key of the follow (``follow_key``)
    where neither the event nor ``through`` says which it is, None also where that is hidden from the reader.
    """

    kind: ReasonKind
    subscription_id: str
    subscription_name: str
    destination_id: str
    team: str | None = None
    via: str | None = None
    hops: int = 0
    of_subject: bool | None = None
    met: str | None = None
    through: Followed | None = None
    held_by: str | None = None
    downstream_of: str | None = None
    states: tuple[str, ...] | None = None
    search: str | None = None
    follow: str | None = None

    @property
    def role(self) -> AssetRole | None:
        """Return what the person owns or follows, or has above it, by this reason; None if neither."""
        if self.search is not None:
            return AssetRole.FOLLOWED
        if self.kind is ReasonKind.FOLLOWER or self.met == "follows":
            return AssetRole.ABOVE_FOLLOWED if self.hops else AssetRole.FOLLOWED
        if self.kind is ReasonKind.OWNER or self.met == "owns":
            return AssetRole.ABOVE_OWNED if self.hops else AssetRole.OWNED
        return None

    def follow_of(self, entity_id: str) -> str | None:
        """Return the key of the follow that an event of this entity is told for; None if it is for none."""
        if self.search is not None:
            return self.subscription_id
        if self.role not in (AssetRole.FOLLOWED, AssetRole.ABOVE_FOLLOWED):
            return None
        if self.follow is not None or self.is_of_column:
            return self.follow
        if self.through is not None:
            return self.through.id
        return None if self.hops else entity_id

    @property
    def is_personal(self) -> bool:
        """Return whether it is for a person's relation to something, not for an address that an alert names."""
        return self.kind is not ReasonKind.EXTERNAL

    @property
    def destination_key(self) -> tuple[str, str]:
        """Return the ids of the alert and of its destination that give it."""
        return self.subscription_id, self.destination_id

    @property
    def is_of_owner(self) -> bool:
        """Return whether it concerns an owner of the changed asset itself."""
        return self.kind is ReasonKind.OWNER and self.hops == 0

    @property
    def is_of_follower(self) -> bool:
        """Return whether it concerns a person who follows the changed asset, what that is about, or contains it."""
        return self.hops == 0 and (self.kind is ReasonKind.FOLLOWER or self.met == "follows")

    @property
    def is_of_column(self) -> bool:
        """Return whether it concerns a person who follows one column of the asset."""
        return self.through is not None and self.through.relation == "column"

    def sentence(
        self,
        name: str | None = None,
        *,
        context: ReasonContext = _NO_CONTEXT,
        names_alert: bool = True,
        receiver: str = "address",
    ) -> str:
        """Return the reason for its reader, or about the person of that name: ``ana owns it (alert Owned)``.

        ``receiver`` says what an alert names that names no person.
        """
        if self.search is not None:
            return f"{context.subject} matches {'your' if name is None else 'the'} saved search {self.search}" + (
                f" of {name}" if name is not None else ""
            )
        asset = "it" if self.of_subject is None else context.subject
        distance = ""
        if self.hops:
            asset, distance = self.via or "an asset", f", {count_text(self.hops, 'step')} below"
        if self.through is not None:
            asset = self.through.with_asset(asset)
        inheritance = " by inheritance" if context.is_inherited and self.is_of_owner else ""
        through = f" through team {self.team}{inheritance}" if self.team else inheritance
        relation, _, met_team = (self.met or "").partition(":")
        is_of_author = context.tells_author and self.kind is ReasonKind.ASKED
        kind = _MET.get(relation, self.kind)
        to_reader, about = _OF_AUTHOR if is_of_author else _SENTENCES[kind]
        if self.kind is ReasonKind.FOLLOWER and self.team is not None:
            to_reader, about = _BY_TEAM if self.team else _BY_HIDDEN_TEAM
        because = (to_reader if name is None else about).format(
            asset=asset, through=through, team=met_team or self.team, name=name, receiver=receiver
        )
        if self.kind is ReasonKind.ASKED and name is None and not context.tells_author:
            because = context.request_clauses.get(self.team, because)
        because += distance
        if not names_alert:
            return because
        until = f"; nothing more until {self.held_by}, upstream, is resolved" if self.held_by else ""
        upstream = self.downstream_of or "an asset upstream"
        after = "" if self.downstream_of is None else f"; {upstream} failed first"
        return f"{because} (alert {self.subscription_name}{after}{until})"


def most_direct_follow(reasons: Iterable[Reason]) -> Reason | None:
    """Return the reason of a follower, of several that of the most direct follow; None where there is none."""
    follows = (reason for reason in reasons if reason.is_of_follower)
    return min(follows, default=None, key=lambda reason: directness(reason.through))


def follow_key(followed_id: str, column_path: str | None = None) -> str:
    """Return the key of a follow: the id of what is followed, with the path of a column in it."""
    return followed_id if column_path is None else f"{followed_id}/{column_path}"


def followed_mark(key: str) -> str:
    """Return what a notification keeps of a follow, by its ``follow_key``: the id, of a column also a hash of its path.

    A path may have spaces, and thousands of characters.
    """
    followed_id, separator, path = key.partition("/")
    return f"{followed_id}/{_uuid5(f'column|{path}')[:8]}" if separator else followed_id


def follow_order(reason: Reason) -> tuple[int, int, tuple[int, str, str], str, str]:
    """Return what follows are ordered by, the nearest first: a column, its asset, what contains that, a search.

    Of a test or a thread, the follows of itself come before those of what it is about.
    """
    width = 4 if reason.search is not None else (0 if reason.is_of_column else 1) + (2 if reason.of_subject else 0)
    return reason.hops, width, directness(reason.through), reason.subscription_id, reason.follow or ""


@lru_cache(maxsize=1_000)
def parse_reasons(text: str) -> tuple[Reason, ...]:
    """Return reasons from JSON; those of one alert for one destination are the same text for every event."""
    return tuple(Reason.model_validate(reason) for reason in json.loads(text))


_SENTENCES = {
    ReasonKind.OWNER: ("you own {asset}{through}", "{name} owns {asset}{through}"),
    ReasonKind.FOLLOWER: ("you follow {asset}", "{name} follows {asset}"),
    ReasonKind.CREATOR: ("you started it", "{name} started it"),
    ReasonKind.ASSIGNEE: ("it is assigned to you{through}", "it is assigned to {name}{through}"),
    ReasonKind.MENTION: ("you were mentioned{through}", "{name} was mentioned{through}"),
    ReasonKind.PARTICIPANT: ("you take part in it{through}", "{name} takes part in it{through}"),
    ReasonKind.ASKED: ("you are asked about it{through}", "{name} is asked about it{through}"),
    ReasonKind.ADMIN: ("you are an administrator", "{name} is an administrator"),
    ReasonKind.TEAM: ("you are in team {team}", "{name} is in team {team}"),
    ReasonKind.USER: ("the alert names you", "the alert names {name}"),
    ReasonKind.EXTERNAL: ("the alert names this {receiver}", "the alert names this {receiver}"),
}
"""What each kind of reason says to the recipient, and about them."""

_BY_TEAM = ("your team {team} follows {asset}", "team {team} of {name} follows {asset}")
_BY_HIDDEN_TEAM = ("one of your teams follows {asset}", "a team of {name} follows {asset}")

_OF_AUTHOR = ("you announced it", "{name} announced it")

_MET = {"follows": ReasonKind.FOLLOWER, "owns": ReasonKind.OWNER, "isMemberOf": ReasonKind.TEAM}
"""The kinds that say the same as a relation that a condition asks for."""


@dataclass(frozen=True)
class Notification:
    """Notification of one recipient about one event over one channel.

    ``recipient`` is the deduplication key: a user's id in the inbox, a lower-case address for
    email, with the bot after it for a bot, ``subscription:endpoint`` for a webhook. ``recipient_id`` is the user's id,
    if it is a user.
    """

    id: str
    event_id: str
    log_offset: int
    channel: str
    recipient: str
    recipient_id: str | None
    reasons: tuple[Reason, ...]
    due_at_ms: int
    created_at_ms: int

    @property
    def address(self) -> str:
        """Return the recipient without the bot."""
        return self.recipient.partition(_BEFORE_BOT)[0]


_BEFORE_BOT = " "


def recipient_key(address: str, bot: str) -> str:
    """Return the deduplication key of a person with an address; ``bot`` tells apart who writes to them there."""
    return f"{address}{_BEFORE_BOT}{bot}" if address and bot else address


@dataclass(frozen=True)
class NotificationIdScheme:
    """The ids of a store's notifications: UUIDs of event, channel and recipient, the same each time.

    Those of events above ``hashed_through``, a log offset, are UUIDv8 and begin with the offset in 12 hexadecimal
    digits, so that new rows are neighbours in an index. Earlier ones are UUIDv5: they were stored so.
    """

    hashed_through: int = 0

    def of(self, log_offset: int, event_id: str, channel: str, recipient: str) -> str:
        """Return the id of the one notification for this event, channel and recipient."""
        name = f"notification|{event_id}|{channel}|{recipient}"
        if log_offset <= self.hashed_through:
            return _uuid5(name)
        digits = f"{log_offset:012x}"
        return _uuid8(f"{digits[:8]}-{digits[8:]}-", name)


ORDERED_IDS = NotificationIdScheme()
"""Those of a store that has always had ids in the order of its log."""


def message_id(notification: str) -> str:
    """Return the id of the message that carries the notification with that id and no other; it begins like that one.

    Receivers have seen such ids since messages were called deliveries.
    """
    name = f"delivery|{notification}"
    is_ordered = notification[_VERSION_AT : _VERSION_AT + 1] == _ORDERED
    return _uuid8(notification[:_VERSION_AT], name) if is_ordered else _uuid5(name)


@lru_cache(maxsize=10_000)
def gathered_message_id(grouping_key: str, channel: str, recipient: str, due_at_ms: int) -> str:
    """Return the id of the message that gathers a recipient's notifications for a time."""
    return _uuid5(f"message|{grouping_key}|{channel}|{recipient}|{due_at_ms}")


def split_message_id(message: str, subscription_id: str, destination_id: str) -> str:
    """Return the id of the message that carries what a destination sends of a message that waits at another one."""
    return _uuid5(f"part|{message}|{subscription_id}|{destination_id}")


def inbox_group_id(recipient_id: str, group: str) -> str:
    """Return the id of a group of a person's inbox: it does not say which event is part of which."""
    return _uuid5(f"group|{recipient_id}|{group}")


def _uuid5(name: str) -> str:
    """Return the UUIDv5 of a name under ``NAMESPACE``, faster than ``uuid.uuid5`` does. Source: RFC 9562, 5.5."""
    hexed = sha1(_ROOT + name.encode(), usedforsecurity=False).hexdigest()
    variant = _VARIANT[hexed[16]]
    return f"{hexed[:8]}-{hexed[8:12]}-5{hexed[13:16]}-{variant}{hexed[17:20]}-{hexed[20:32]}"


def _uuid8(beginning: str, name: str) -> str:
    """Return the UUIDv8 that begins with 12 digits, with their dashes, and goes on with 74 bits of a name's hash."""
    hexed = sha1(_ROOT + name.encode(), usedforsecurity=False).hexdigest()
    return f"{beginning}{_ORDERED}{hexed[:3]}-{_VARIANT[hexed[3]]}{hexed[4:7]}-{hexed[7:19]}"
