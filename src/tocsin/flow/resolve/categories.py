"""Whom does each destination ask for? Categories and flags become rows of (relation, receiver), for both engines.

Source: seeds/001 "Subscription Categories" and ``events/emailAlertConfig.json`` for the flags.
Next: ``flow/resolve/directory.py`` says who stands in those relations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tocsin.model.notification import ReasonKind
from tocsin.model.subscription import Category, Channel, Destination, EventSubscription

NO_DEPTH_LIMIT = 2**31 - 1
"""Downstream depth of a destination that sets none: as far as lineage goes."""


BY_ASSET = (ReasonKind.OWNER, ReasonKind.FOLLOWER)
"""The relations in which people stand to an asset; the others need nothing but the alert."""

# Assignees and mentions stand in neither table: only tasks and conversations have them.
_BY_CATEGORY = {
    Category.OWNERS: ReasonKind.OWNER,
    Category.FOLLOWERS: ReasonKind.FOLLOWER,
    Category.ADMINS: ReasonKind.ADMIN,
}
_BY_NAME = {Category.USERS: ReasonKind.USER, Category.TEAMS: ReasonKind.TEAM}


@dataclass(frozen=True)
class Wanted:
    """One way in which one destination reaches people.

    Attributes
    ----------
    relation : how people come to be told
    receiver : the name, address or endpoint asked for; empty where the relation alone says who
    downstream_depth : how many hops of lineage count for owners and followers; 0 is the changed entity alone
    """

    subscription_id: str
    subscription_name: str
    destination_id: str
    channel: Channel
    relation: ReasonKind
    receiver: str = ""
    downstream_depth: int = 0


def wanted(subscription: EventSubscription) -> tuple[Wanted, ...]:
    """Return every way in which the enabled destinations of ``subscription`` reach people, each once."""
    rows: dict[Wanted, None] = {}
    for destination in subscription.destinations:
        if not destination.enabled:
            continue
        for relation, receiver in _asked(destination):
            rows[_row(subscription, destination, relation, receiver)] = None
    return tuple(rows)


def _row(subscription: EventSubscription, destination: Destination, relation: ReasonKind, receiver: str) -> Wanted:
    return Wanted(
        subscription_id=subscription.id,
        subscription_name=subscription.name,
        destination_id=destination.id,
        channel=destination.type,
        relation=relation,
        receiver=receiver,
        downstream_depth=_depth(destination) if relation in BY_ASSET else 0,
    )


def _depth(destination: Destination) -> int:
    if not destination.notify_downstream:
        return 0
    return destination.downstream_depth or NO_DEPTH_LIMIT


def _asked(destination: Destination) -> Iterator[tuple[ReasonKind, str]]:
    """Yield (relation, receiver) pairs: the category's own, then what the flags add to it."""
    config = destination.config
    if destination.category in _BY_CATEGORY:
        yield _BY_CATEGORY[destination.category], ""
    if destination.category in _BY_NAME:
        yield from _named(_BY_NAME[destination.category], config.receivers)
    if destination.category is Category.EXTERNAL:
        yield from _external(destination)
    if config.send_to_owners:
        yield ReasonKind.OWNER, ""
    if config.send_to_followers:
        yield ReasonKind.FOLLOWER, ""
    if config.send_to_admins:
        yield ReasonKind.ADMIN, ""


def _named(relation: ReasonKind, receivers: tuple[str, ...]) -> Iterator[tuple[ReasonKind, str]]:
    for receiver in receivers:
        yield (ReasonKind.EXTERNAL, receiver.lower()) if "@" in receiver else (relation, receiver)


def _external(destination: Destination) -> Iterator[tuple[ReasonKind, str]]:
    if destination.type is Channel.EMAIL:
        for receiver in destination.config.receivers:
            yield ReasonKind.EXTERNAL, receiver.lower()
    elif destination.config.endpoint:
        yield ReasonKind.EXTERNAL, destination.config.endpoint
