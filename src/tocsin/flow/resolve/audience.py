"""Audience of changed entities: everything recipient resolution needs, looked up by key.

Queries the directory level by level (lineage, relations, teams, people), once per level for all entities.
Next: ``flow/resolve/merge.py`` for one event, ``flow/resolve/portions.py`` for many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from tocsin.flow.resolve.directory import Audience, Directory, DownstreamStep, Principal
from tocsin.flow.resolve.person_conditions import person_facts_of
from tocsin.flow.resolve.recipient_rules import BY_ASSET, RecipientRule
from tocsin.model.mute import Mute
from tocsin.model.notification import ReasonKind
from tocsin.model.people import Person
from tocsin.model.subscription import Channel

_BY_NAME = (ReasonKind.USER, ReasonKind.TEAM)


def audience_of(
    entity_ids: Collection[str],
    rules: Sequence[RecipientRule],
    directory: Directory,
    *,
    everybody: bool = False,
    reach: tuple[DownstreamStep, ...] | None = None,
) -> Audience:
    """Return the audience of ``rules`` for changes of these entities; ``everybody``: bots and deleted users, too.

    Its size depends on the entities and their stakeholders; nothing else of the store is read. ``reach`` is what the
    entities reach (``reach_of``), where the caller has looked that up.
    """
    if reach is None:
        reach = reach_of(entity_ids, rules, directory)
    principals = tuple(_principals(reach, rules, directory))
    teams = {principal.principal_id for principal in principals if principal.principal_type == "team"}
    owners = {owner for rule in rules for owner in rule.owners}
    teams.update(owner_id for kind, owner_id in owners if kind == "team")
    members = tuple(directory.members(teams)) if teams else ()
    users = {principal.principal_id for principal in principals if principal.principal_type == "user"}
    users.update(member.user_id for member in members)
    users.update(owner_id for kind, owner_id in owners if kind == "user")
    person_facts = tuple(person_facts_of(entity_ids, rules, directory)) if any(rule.questions for rule in rules) else ()
    users.update(fact.user_id for fact in person_facts)
    persons = directory.people(users) if users else ()
    people = tuple(person for person in persons if everybody or may_be_notified(person))
    notifiable_ids = {person.id for person in people if may_be_notified(person)} if person_facts else set()
    kept_facts = tuple(fact for fact in person_facts if fact.user_id in notifiable_ids)
    about_ids = {node for step in reach for node in (step.root_id, step.node_id)}
    ways = (*(one.through for one in principals), *(fact.through for fact in person_facts))
    about_ids |= {through.id for through in ways if through is not None and through.id is not None}
    mutes = tuple(_mutes(about_ids, rules, people, directory))
    holders = {one.principal_id for one in principals} if any(rule.by_own_address for rule in rules) else set()
    own_addresses = tuple(directory.own_addresses(holders)) if holders else ()
    is_pushed = any(rule.channel is Channel.PUSH for rule in rules)
    with_browser = frozenset(directory.people_with_browser({one.id for one in people}) if is_pushed and people else ())
    return Audience(reach, principals, members, people, mutes, kept_facts, own_addresses, with_browser)


def may_be_notified(person: Person) -> bool:
    """Return whether ``person`` may be notified at all: deleted users and bots may not."""
    return not person.is_bot and not person.deleted


def _mutes(
    asset_ids: Collection[str], rules: Sequence[RecipientRule], people: Sequence[Person], directory: Directory
) -> Iterable[Mute]:
    who = {person.id for person in people}
    who.update(rule.receiver for rule in rules if rule.relation is ReasonKind.EXTERNAL)
    about = {*asset_ids, *(rule.subscription_id for rule in rules)}
    return directory.mutes(who, about) if who else ()


def reach_of(
    entity_ids: Collection[str], rules: Sequence[RecipientRule], directory: Directory
) -> tuple[DownstreamStep, ...]:
    """Return what each entity reaches downstream, as far as ``rules`` ask for it, itself included.

    An event of a policy that tells of a refused access reaches the asset as well.
    """
    depth = max((rule.downstream_depth for rule in rules), default=0)
    steps: Iterable[DownstreamStep] = (DownstreamStep(entity_id, entity_id, "", 0) for entity_id in entity_ids)
    if depth:
        steps = directory.reach(entity_ids, depth)
    asks_of_assets = any(rule.relation in BY_ASSET for rule in rules)
    return (*steps, *(directory.refused_assets(entity_ids) if asks_of_assets else ()))


def _principals(
    reach: Sequence[DownstreamStep], rules: Sequence[RecipientRule], directory: Directory
) -> Iterator[Principal]:
    relations = {rule.relation for rule in rules}
    nodes = {step.node_id for step in reach}
    for relation in BY_ASSET:
        if relation in relations:
            yield from directory.stakeholders(nodes, relation)
    for relation in _BY_NAME:
        names = {rule.receiver for rule in rules if rule.relation is relation}
        if names:
            yield from directory.principals_named(relation, names)
    if ReasonKind.ADMIN in relations:
        yield from directory.administrators()
