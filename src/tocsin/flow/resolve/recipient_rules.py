"""Recipients of destinations: categories and flags become rows of (relation, receiver), for both engines.

Source: seeds/001 "Subscription Categories" and ``events/emailAlertConfig.json`` for the flags.
Next: ``flow/resolve/directory.py`` finds the people in those relations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from tocsin.conditions.relations import FOLLOWS, OWNS, team_of
from tocsin.model.address import MASK
from tocsin.model.notification import ReasonKind
from tocsin.model.subscription import TO_PEOPLE, Category, Channel, Destination, EventSubscription, bot_key_of

NO_DEPTH_LIMIT = 2**31 - 1
"""Downstream depth of a destination that sets none: as far as lineage goes."""


ALONG_LINEAGE = (ReasonKind.OWNER, ReasonKind.FOLLOWER)
"""The relations that count for downstream assets as well, where a destination asks for it."""

BY_ASSET = (
    *ALONG_LINEAGE,
    *(ReasonKind.CREATOR, ReasonKind.ASSIGNEE, ReasonKind.MENTION, ReasonKind.PARTICIPANT),
    ReasonKind.ASKED,
)
"""The relations of people to an asset or a thread; the others need nothing but the alert."""

_BY_CATEGORY = {
    Category.OWNERS: (ReasonKind.OWNER, ReasonKind.CREATOR),
    Category.FOLLOWERS: (ReasonKind.FOLLOWER,),
    Category.ADMINS: (ReasonKind.ADMIN,),
    Category.ASSIGNEES: (ReasonKind.ASSIGNEE, ReasonKind.ASKED),
    Category.MENTIONS: (ReasonKind.MENTION, ReasonKind.PARTICIPANT),
}
_BY_QUESTION = {FOLLOWS: ReasonKind.FOLLOWER, OWNS: ReasonKind.OWNER}
_BY_NAME = {Category.USERS: (ReasonKind.USER,), Category.TEAMS: (ReasonKind.TEAM,)}
_BY_ANY_NAME = (ReasonKind.USER, ReasonKind.TEAM)


@dataclass(frozen=True)
class RecipientRule:
    """One way in which one destination reaches people.

    Attributes
    ----------
    relation : relation that makes people recipients
    receiver : the name, address or endpoint asked for; empty where the relation alone determines the recipients
    downstream_depth : how many hops of lineage count for owners and followers; 0 is the changed entity alone
    questions : the alert's conditions on the recipient (``conditions/relations.py``)
    by_address : it reaches people at their e-mail address
    by_own_address : it reaches people, and teams as a whole, at the address that is in their profile
    bot : the bot that writes to them: what two bots say are two notifications; empty for Tocsin's own mail
    owners : types and ids of the alert's owners, of whom it asks its questions where it reaches no person
    states : what the alert asks of assets at the times of its schedule (``conditions/asset_states.py``)
    search : what its owner calls the saved search that it is of
    """

    subscription_id: str
    subscription_name: str
    destination_id: str
    channel: Channel
    relation: ReasonKind
    receiver: str = ""
    downstream_depth: int = 0
    questions: tuple[str, ...] = ()
    by_address: bool = False
    by_own_address: bool = False
    bot: str = ""
    owners: tuple[tuple[str, str], ...] = ()
    states: tuple[str, ...] = ()
    search: str = ""


def recipient_rules(
    subscription: EventSubscription, questions: tuple[str, ...] = (), states: Collection[str] = ()
) -> tuple[RecipientRule, ...]:
    """Return every way in which the enabled destinations of ``subscription`` reach people, each once.

    ``questions`` are its conditions on the recipient, which select the users where a destination names none; ``states``
    is what it asks of assets at the times of its schedule.
    """
    rules: dict[RecipientRule, None] = {}
    owners = tuple((one.type, one.id) for one in subscription.owners) if questions else ()
    for destination in subscription.destinations:
        if not destination.enabled:
            continue
        if subscription.to_me_only:
            receivers = _sole_owner(subscription, destination)
        else:
            receivers = (*_receivers_of(destination), *_receivers_by_question(destination, questions))
        for relation, receiver in receivers:
            questioned_owners = owners if relation is ReasonKind.EXTERNAL else ()
            rule = _row(subscription, destination, relation, receiver)
            asked_states = tuple(sorted(states))
            rules[replace(rule, questions=questions, owners=questioned_owners, states=asked_states)] = None
    return tuple(rules)


def _sole_owner(subscription: EventSubscription, destination: Destination) -> tuple[tuple[ReasonKind, str], ...]:
    """Return the owner of an alert to its owner only, whomever the destination names; nobody by an alert's address."""
    owners = subscription.owners
    reaches_person = destination.type in TO_PEOPLE or destination.uses_own_addresses
    if len(owners) != 1 or owners[0].type != "user" or not owners[0].name or not reaches_person:
        return ()
    return ((ReasonKind.USER, owners[0].name),)


def _row(
    subscription: EventSubscription, destination: Destination, relation: ReasonKind, receiver: str
) -> RecipientRule:
    return RecipientRule(
        subscription_id=subscription.id,
        subscription_name=subscription.name,
        destination_id=destination.id,
        channel=destination.type,
        relation=relation,
        receiver=receiver,
        downstream_depth=_depth(destination) if relation in ALONG_LINEAGE else 0,
        by_address=destination.type is Channel.EMAIL or _has_bot(destination),
        by_own_address=destination.uses_own_addresses and relation is not ReasonKind.EXTERNAL,
        bot=_bot(subscription, destination) if _has_bot(destination) else "",
        search=subscription.search.name if subscription.search and subscription.to_me_only else "",
    )


def _has_bot(destination: Destination) -> bool:
    """Return whether a bot of Slack sends for a destination: it finds people by their e-mail address, as mail does."""
    return destination.type is Channel.SLACK and bool(destination.config.bot_token)


def _bot(subscription: EventSubscription, destination: Destination) -> str:
    """Return what tells the bot of a destination from others; of an unknown one, that it is this destination's."""
    token = destination.config.bot_token or MASK
    return subscription.bots.get(destination.id) or (f"of {destination.id}" if MASK in token else bot_key_of(token))


def _depth(destination: Destination) -> int:
    if not destination.notify_downstream:
        return 0
    return destination.downstream_depth or NO_DEPTH_LIMIT


def _receivers_of(destination: Destination) -> Iterator[tuple[ReasonKind, str]]:
    """Yield (relation, receiver) pairs: the category's own, then what receivers and flags add to it."""
    config = destination.config
    for relation in _BY_CATEGORY.get(destination.category, ()):
        yield relation, ""
    if destination.category is Category.EXTERNAL:
        yield from _external(destination)
    else:
        for relation in _BY_NAME.get(destination.category, _BY_ANY_NAME):
            yield from _receivers_by_name(relation, config.receivers)
    if config.send_to_owners:
        yield ReasonKind.OWNER, ""
    if config.send_to_followers:
        yield ReasonKind.FOLLOWER, ""
    if config.send_to_admins:
        yield ReasonKind.ADMIN, ""


def _receivers_by_question(destination: Destination, questions: tuple[str, ...]) -> Iterator[tuple[ReasonKind, str]]:
    """Yield the recipients of a users destination that names none, if the condition is on the recipient."""
    if destination.category is not Category.USERS or not destination.has_no_receiver:
        return
    for question in questions:
        team = team_of(question)
        yield (ReasonKind.TEAM, team) if team is not None else (_BY_QUESTION[question], "")


def _receivers_by_name(relation: ReasonKind, receivers: tuple[str, ...]) -> Iterator[tuple[ReasonKind, str]]:
    for receiver in receivers:
        yield (ReasonKind.EXTERNAL, receiver.lower()) if "@" in receiver else (relation, receiver)


def _external(destination: Destination) -> Iterator[tuple[ReasonKind, str]]:
    if destination.type is Channel.EMAIL:
        for receiver in destination.config.receivers:
            yield ReasonKind.EXTERNAL, receiver.lower()
    elif destination.type is Channel.SLACK and destination.config.channel:
        yield ReasonKind.EXTERNAL, destination.config.channel
    elif destination.type is Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT:
        yield ReasonKind.EXTERNAL, f"queue:{destination.id}"
    elif destination.config.endpoint:
        # Of several webhooks that look alike because their addresses are masked, each is a receiver of its own.
        endpoint = destination.config.endpoint
        yield ReasonKind.EXTERNAL, f"{endpoint}#{destination.id}" if MASK in endpoint else endpoint
