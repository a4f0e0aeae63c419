"""Directory protocol: the lookups that recipient resolution needs, always by key.

The cost of a lookup depends on the number of keys, never on the number of followers in the system.
``store/recipients/directory.py`` implements it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from tocsin.access.permission_cache import PolicySnapshot
from tocsin.model.mute import Mute
from tocsin.model.notification import Followed, ReasonKind
from tocsin.model.own_address import OwnAddress
from tocsin.model.people import Person
from tocsin.model.subscription import Channel

NO_END = 2**63 - 1
"""A log offset that is never reached."""


class DownstreamStep(NamedTuple):
    """An entity that a changed one reaches through lineage, by the shortest way: ``hops`` edges.

    It does for the events from ``since_offset`` to ``until_offset`` of the log.
    """

    root_id: str
    node_id: str
    node_fqn: str
    hops: int
    since_offset: int = 0
    until_offset: int = NO_END


class Principal(NamedTuple):
    """A user or team that is in ``relation`` to ``node_id``, or that ``receiver`` names.

    ``since_offset`` is the log offset of the event that made it so: earlier events are not for them, nor are
    events after ``until_offset``. ``is_of_subject``: the relation is to what the node is about. ``through`` is what a
    follower follows that contains the node, None where it is the node itself; ``is_hidden``: they may not view that.
    ``team`` is the name of the team as whose member a person follows by default; ``follow`` the key of the follow where
    neither the node nor ``through`` says what it is of.
    """

    relation: ReasonKind
    principal_id: str
    principal_type: str
    node_id: str | None = None
    receiver: str = ""
    since_offset: int = 0
    until_offset: int = NO_END
    is_of_subject: bool = False
    through: Followed | None = None
    is_hidden: bool = False
    team: str | None = None
    follow: str | None = None


class Member(NamedTuple):
    """A person in a team, or in a team below it, for the events from ``since_offset`` to ``until_offset``."""

    team_id: str
    team_name: str
    user_id: str
    since_offset: int = 0
    until_offset: int = NO_END


@dataclass(frozen=True)
class PersonFact:
    """Something that an alert asks of people holds of a person, at ``place`` (an entity; empty: everywhere).

    ``through`` is what they follow that contains the place, None where they follow the place itself; ``follow`` as of a
    principal.
    """

    place: str
    user_id: str
    question: str
    since_offset: int = 0
    until_offset: int = NO_END
    through: Followed | None = None
    follow: str | None = None


@dataclass(frozen=True)
class Portion:
    """Some of all people: ids above ``after`` and up to ``through``, without ``apart``; or those of ``only``."""

    after: str = ""
    through: str | None = None
    apart: frozenset[str] = frozenset()
    only: frozenset[str] | None = None

    def holds(self, user_id: str) -> bool:
        """Return whether a person is one of these."""
        if self.only is not None:
            return user_id in self.only
        return self.after < user_id and (self.through is None or user_id <= self.through) and user_id not in self.apart


EVERYBODY = Portion()


class HeldAddress(NamedTuple):
    """An address that a person or team has for a channel, and their name.

    ``text`` is what everybody may know of it. Nothing is sent to one that is not verified.
    """

    channel: Channel
    address: OwnAddress
    name: str
    deleted: bool = False
    is_verified: bool = True
    text: str = ""


class Directory(Protocol):
    """Answers by key; unknown keys have no answer. Relations say for which events of the log they hold."""

    def for_events(self, events: Mapping[int, str]) -> Directory:
        """Return the directory for some events, by offset the entity of each: relations that ended before are left out.

        Who follows a column is told of these events alone.
        """

    def of(self, portion: Portion) -> Directory:
        """Return the directory of some people: of others it knows no relation."""

    def with_rights(self, policies: PolicySnapshot) -> Directory:
        """Return the directory that marks follows of what their followers may not view (``Principal.is_hidden``)."""

    def cuts(self, node_ids: Collection[str], size: int) -> Sequence[str]:
        """Return the ids of people that cut the follows of these nodes into parts of ``size``; none if one does.

        A follow of what contains nodes counts once for each of them. A part has at most one person more.
        """

    def people_sharing(self, addresses: Collection[str]) -> Collection[str]:
        """Return the people with one of these addresses, and all who have the same address as another person."""

    def reach(self, entity_ids: Collection[str], depth: int) -> Iterable[DownstreamStep]:
        """Return what each entity reaches downstream within ``depth`` hops, itself (0 hops) included."""

    def refused_assets(self, entity_ids: Collection[str]) -> Iterable[DownstreamStep]:
        """Return the asset of each refused access that an event of one of these, a policy, tells of: for that alone."""

    def stakeholders(self, node_ids: Collection[str], relation: ReasonKind) -> Iterable[Principal]:
        """Return the principals in this relation to each node; a thread has the owners and followers of its asset.

        A person who follows what a node belongs to follows the node for as long as both are so, and at the event that
        ends the belonging (``Principal.through``).
        """

    def principals_named(self, relation: ReasonKind, names: Collection[str]) -> Iterable[Principal]:
        """Return the users or teams of those names."""

    def administrators(self) -> Iterable[Principal]:
        """Return all administrators."""

    def members(self, team_ids: Collection[str]) -> Iterable[Member]:
        """Return the people of each team, nested teams included, each once."""

    def people(self, user_ids: Collection[str]) -> Iterable[Person]:
        """Return the people of those ids, deleted ones and bots included."""

    def own_addresses(self, holder_ids: Collection[str]) -> Iterable[HeldAddress]:
        """Return the addresses that these people and teams have in their profiles."""

    def people_with_browser(self, user_ids: Collection[str]) -> Collection[str]:
        """Return those of these people who take push messages in a browser now."""

    def mutes(self, who: Collection[str], about_ids: Collection[str]) -> Iterable[Mute]:
        """Return what these people and addresses have muted of these alerts, assets, and threads about assets."""


@dataclass(frozen=True)
class Audience:
    """Input for resolving some events: reached assets, principals, people, and mutes.

    ``people`` holds only those who may be notified at all, unless all were requested; ``person_facts`` always those
    of people who may be notified. Those ``with_browser`` take push messages in one.
    """

    reach: tuple[DownstreamStep, ...]
    principals: tuple[Principal, ...]
    members: tuple[Member, ...]
    people: tuple[Person, ...]
    mutes: tuple[Mute, ...] = ()
    person_facts: tuple[PersonFact, ...] = ()
    own_addresses: tuple[HeldAddress, ...] = ()
    with_browser: frozenset[str] = frozenset()
