"""Audience of changed entities: everything recipient resolution needs, looked up by key.

Queries the directory level by level (lineage, relations, teams, people), once per level for all entities.
Next: ``flow/resolve/local.py`` for one event, ``flow/resolve/portions.py`` for many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from tocsin.flow.resolve.directory import Audience, Directory, DownstreamStep, Principal
from tocsin.flow.resolve.person_conditions import person_facts_of
from tocsin.flow.resolve.recipient_rules import BY_ASSET, RecipientRule
from tocsin.model.mute import Mute
from tocsin.model.notification import ReasonKind
from tocsin.model.people import Person

_BY_NAME = (ReasonKind.USER, ReasonKind.TEAM)


def audience_of(
    entity_ids: Collection[str], rows: Sequence[RecipientRule], directory: Directory, *, everybody: bool = False
) -> Audience:
    """Return the audience of ``rows`` for changes of these entities; ``everybody``: bots and deleted users, too.

    Its size depends on the entities and their stakeholders; nothing else of the store is read.
    """
    reach = tuple(_reach(entity_ids, rows, directory))
    principals = tuple(_principals(reach, rows, directory))
    teams = {principal.principal_id for principal in principals if principal.principal_type == "team"}
    owners = {owner for row in rows for owner in row.owners}
    teams.update(owner_id for kind, owner_id in owners if kind == "team")
    members = tuple(directory.members(teams)) if teams else ()
    users = {principal.principal_id for principal in principals if principal.principal_type == "user"}
    users.update(member.user_id for member in members)
    users.update(owner_id for kind, owner_id in owners if kind == "user")
    person_facts = tuple(person_facts_of(entity_ids, rows, directory)) if any(row.questions for row in rows) else ()
    users.update(fact.user_id for fact in person_facts)
    found = directory.people(users) if users else ()
    people = tuple(person for person in found if everybody or may_be_notified(person))
    able = {person.id for person in people if may_be_notified(person)} if person_facts else set()
    held = tuple(fact for fact in person_facts if fact.user_id in able)
    mutes = tuple(_mutes(reach, rows, people, directory))
    holders = {one.principal_id for one in principals} if any(row.by_own_address for row in rows) else set()
    own = tuple(directory.own_addresses(holders)) if holders else ()
    return Audience(reach, principals, members, people, mutes, held, own)


def may_be_notified(person: Person) -> bool:
    """Say whether ``person`` may be notified at all: deleted users and bots may not."""
    return not person.is_bot and not person.deleted


def _mutes(
    reach: Sequence[DownstreamStep], rows: Sequence[RecipientRule], people: Sequence[Person], directory: Directory
) -> Iterable[Mute]:
    who = {person.id for person in people}
    who.update(row.receiver for row in rows if row.relation is ReasonKind.EXTERNAL)
    about = {row.subscription_id for row in rows}
    about.update(node for step in reach for node in (step.root_id, step.node_id))
    return directory.mutes(who, about) if who else ()


def _reach(
    entity_ids: Collection[str], rows: Sequence[RecipientRule], directory: Directory
) -> Iterator[DownstreamStep]:
    depth = max((row.downstream_depth for row in rows), default=0)
    if depth:
        yield from directory.reach(entity_ids, depth)
    else:
        for entity_id in entity_ids:
            yield DownstreamStep(root_id=entity_id, node_id=entity_id, node_fqn="", hops=0)


def _principals(
    reach: Sequence[DownstreamStep], rows: Sequence[RecipientRule], directory: Directory
) -> Iterator[Principal]:
    asked = {row.relation for row in rows}
    nodes = {step.node_id for step in reach}
    for relation in BY_ASSET:
        if relation in asked:
            yield from directory.stakeholders(nodes, relation)
    for relation in _BY_NAME:
        names = {row.receiver for row in rows if row.relation is relation}
        if names:
            yield from directory.principals_named(relation, names)
    if ReasonKind.ADMIN in asked:
        yield from directory.administrators()
