"""In-memory directory with generated companies, for tests of recipient resolution without a store."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tests.company import STARTED_MS

from tocsin.access.permission_cache import PolicySnapshot
from tocsin.flow.resolve.directory import EVERYBODY, NO_END, DownstreamStep, HeldAddress, Member, Portion, Principal
from tocsin.model.entity import EntityReference
from tocsin.model.mute import FOR_GOOD_MS, Mute, MuteKind
from tocsin.model.notification import Followed, ReasonKind
from tocsin.model.people import Person
from tocsin.model.subscription import (
    AlertType,
    Category,
    Channel,
    Destination,
    DestinationConfig,
    EventSubscription,
)

PARTS = (ReasonKind.CREATOR, ReasonKind.ASSIGNEE, ReasonKind.MENTION, ReasonKind.PARTICIPANT, ReasonKind.ASKED)


@dataclass
class Company:
    """Answers as ``flow/resolve/directory.Directory`` demands, from plain dictionaries."""

    assets: list[str] = field(default_factory=list)
    edges: dict[str, list[str]] = field(default_factory=dict)
    users: dict[str, Person] = field(default_factory=dict)
    teams: dict[str, list[str]] = field(default_factory=dict)
    owners: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    followers: dict[str, list[str]] = field(default_factory=dict)
    followed_at: dict[str, int] = field(default_factory=dict)
    belongings: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)
    parts: dict[tuple[str, ReasonKind], list[Principal]] = field(default_factory=dict)
    muted: list[Mute] = field(default_factory=list)
    portion: Portion = EVERYBODY

    def for_events(self, _events: Mapping[int, str]) -> Company:
        return self

    def of(self, portion: Portion) -> Company:
        return replace(self, portion=portion)

    def with_rights(self, _policies: PolicySnapshot) -> Company:
        return self

    def cuts(self, node_ids: Collection[str], size: int) -> list[str]:
        followed = [one for node in node_ids for one in (node, *(at for at, *_ in self.belongings.get(node, ())))]
        ids = sorted(who for one in followed for who in self.followers.get(one, ()))
        return sorted(set(ids[size - 1 :: size])) if len(ids) > size else []

    def people_sharing(self, addresses: Collection[str]) -> set[str]:
        counts_by_address = Counter(person.email for person in self.users.values() if person.email)
        return {
            person.id
            for person in self.users.values()
            if person.email and (counts_by_address[person.email] > 1 or person.email in addresses)
        }

    def reach(self, entity_ids: Collection[str], depth: int) -> Iterator[DownstreamStep]:
        for root in entity_ids:
            hops, frontier, level = {root: 0}, [root], 0
            while frontier and level < depth:
                level += 1
                frontier = [to for node in frontier for to in self.edges.get(node, ()) if to not in hops]
                hops.update(dict.fromkeys(frontier, level))
            yield from (DownstreamStep(root, node, f"fqn.{node}", distance) for node, distance in hops.items())

    def refused_assets(self, entity_ids: Collection[str]) -> Iterator[DownstreamStep]:
        return iter(())

    def stakeholders(self, node_ids: Collection[str], relation: ReasonKind) -> Iterator[Principal]:
        return filter(self._knows, self._stakeholders(node_ids, relation))

    def _knows(self, principal: Principal) -> bool:
        return principal.principal_type == "team" or self.portion.holds(principal.principal_id)

    def _stakeholders(self, node_ids: Collection[str], relation: ReasonKind) -> Iterator[Principal]:
        for node in node_ids:
            if relation in PARTS:
                yield from self.parts.get((node, relation), ())
            elif relation is ReasonKind.OWNER:
                yield from (Principal(relation, who, kind, node_id=node) for who, kind in self.owners.get(node, ()))
            else:
                for who in self.followers.get(node, ()):
                    yield Principal(relation, who, "user", node_id=node, since_offset=self.followed_at.get(who, 0))
                yield from self._followers_of_containers(node)

    def _followers_of_containers(self, node: str) -> Iterator[Principal]:
        for container, since, until in self.belongings.get(node, ()):
            through = Followed(type="databaseSchema", id=container, fully_qualified_name=container)
            for who in self.followers.get(container, ()):
                first = max(since, self.followed_at.get(who, 0))
                if first <= until:
                    yield Principal(ReasonKind.FOLLOWER, who, "user", node, "", first, until, through=through)

    def principals_named(self, relation: ReasonKind, names: Collection[str]) -> Iterator[Principal]:
        existing, kind = (self.teams, "team") if relation is ReasonKind.TEAM else (self.users, "user")
        principals = (Principal(relation, name, kind, receiver=name) for name in names if name in existing)
        yield from filter(self._knows, principals)

    def administrators(self) -> Iterator[Principal]:
        admins = (Principal(ReasonKind.ADMIN, one.id, "user") for one in self.users.values() if one.is_admin)
        yield from filter(self._knows, admins)

    def members(self, team_ids: Collection[str]) -> Iterator[Member]:
        for team in team_ids:
            visited, waiting = {team}, [team]
            people: set[str] = set()
            while waiting:
                for member in self.teams.get(waiting.pop(), ()):
                    if member in self.teams and member not in visited:
                        visited.add(member)
                        waiting.append(member)
                    people.update([member] if member in self.users else [])
            yield from (Member(team, f"name of {team}", user) for user in sorted(people) if self.portion.holds(user))

    def people(self, user_ids: Collection[str]) -> Iterator[Person]:
        yield from (self.users[one] for one in user_ids if one in self.users)

    def own_addresses(self, holder_ids: Collection[str]) -> Iterator[HeldAddress]:
        yield from ()

    def people_with_browser(self, user_ids: Collection[str]) -> Collection[str]:
        return user_ids

    def mutes(self, who: Collection[str], about_ids: Collection[str]) -> Iterator[Mute]:
        yield from (one for one in self.muted if one.who in who and one.about_id in about_ids)

    def alerts(self, rng: random.Random) -> list[EventSubscription]:
        """Return some alerts that between them use every category and channel."""
        return [_alert(rng, self, number) for number in range(5)]


def company(rng: random.Random) -> Company:
    """Return a company with cycles in its lineage and its teams, bots, deleted people and shared addresses."""
    directory = Company(assets=[f"asset-{n}" for n in range(8)])
    directory.edges = {asset: rng.sample(directory.assets, rng.randint(0, 3)) for asset in directory.assets}
    for number in range(10):
        directory.users[f"user-{number}"] = Person(
            id=f"user-{number}",
            name=f"user-{number}",
            email=rng.choice([None, f"u{number}@example.com", "shared@example.com"]),
            is_admin=rng.random() < 0.2,
            is_bot=rng.random() < 0.1,
            deleted=rng.random() < 0.1,
        )
    names = [f"team-{n}" for n in range(4)]
    directory.teams = {name: rng.sample([*directory.users, *names], 4) for name in names}
    for asset in directory.assets:
        directory.owners[asset] = [(rng.choice(list(directory.users)), "user"), (rng.choice(names), "team")][
            : rng.randint(0, 2)
        ]
        directory.followers[asset] = rng.sample(list(directory.users), rng.randint(0, 4))
    containers = [f"container-{n}" for n in range(3)]
    for container in containers:
        directory.followers[container] = rng.sample(list(directory.users), rng.randint(0, 4))
    for asset in directory.assets:
        spans = [(rng.choice([0, 2]), rng.choice([3, 30, NO_END])) for _ in containers]
        directory.belongings[asset] = [(one, *span) for one, span in zip(containers, spans, strict=True)][
            : rng.randint(0, 3)
        ]
    for asset in directory.assets:
        for relation in PARTS:
            directory.parts[asset, relation] = [
                _part(rng, directory, asset, relation) for _ in range(rng.randint(0, 3))
            ]
    directory.muted = [_mute(rng, directory) for _ in range(8)]
    directory.followed_at = {user: rng.choice([0, 2]) for user in directory.users}
    return directory


def _mute(rng: random.Random, directory: Company) -> Mute:
    about = rng.choice([*directory.followers, *(f"alert-{number}" for number in range(5))])
    return Mute(
        who=rng.choice([*directory.users, "out.side@example.com"]),
        kind=MuteKind.ASSET if about in directory.followers else MuteKind.ALERT,
        about_id=about,
        channel=rng.choice(["", "", Channel.EMAIL, Channel.ACTIVITY_FEED]),
        since_offset=rng.choice([0, 2]),
        until_ms=rng.choice([STARTED_MS, STARTED_MS + 1, FOR_GOOD_MS]),
    )


def _part(rng: random.Random, directory: Company, asset: str, relation: ReasonKind) -> Principal:
    who, kind = rng.choice([(rng.choice(list(directory.users)), "user"), (rng.choice(list(directory.teams)), "team")])
    since = rng.choice([0, 2])
    return Principal(relation, who, kind, node_id=asset, since_offset=since, until_offset=rng.choice([since, NO_END]))


def _alert(rng: random.Random, directory: Company, number: int) -> EventSubscription:
    destinations = tuple(_destination(rng, directory, f"alert-{number}-{at}") for at in range(rng.randint(1, 4)))
    principals = [*((one, "user") for one in directory.users), *((one, "team") for one in directory.teams)]
    owners = tuple(EntityReference(id=one, type=kind) for one, kind in rng.sample(principals, rng.randrange(3)))
    return EventSubscription(
        id=f"alert-{number}",
        name=f"alert {number}",
        fully_qualified_name=f"alert {number}",
        alert_type=AlertType.NOTIFICATION,
        destinations=destinations,
        owners=owners,
    )


def _destination(rng: random.Random, directory: Company, identity: str) -> Destination:
    category = rng.choice(list(Category))
    channel = rng.choice([Channel.EMAIL, Channel.ACTIVITY_FEED])
    if category is Category.EXTERNAL:
        channel = rng.choice([Channel.EMAIL, Channel.WEBHOOK])
    names = [*rng.sample(list(directory.users), 2), *rng.sample(list(directory.teams), 1), "nobody"]
    if channel is Channel.EMAIL:
        names = (
            ["Out.Side@example.com", "shared@example.com", *names]
            if category is not Category.EXTERNAL
            else ["Out.Side@example.com"]
        )
    return Destination(
        id=identity,
        category=category,
        type=channel,
        enabled=rng.random() < 0.9,
        notify_downstream=rng.random() < 0.5,
        downstream_depth=rng.choice([None, 1, 2]),
        config=DestinationConfig(
            receivers=tuple(names) if category in (Category.USERS, Category.TEAMS, Category.EXTERNAL) else (),
            endpoint="http://127.0.0.1:9/hook" if channel is Channel.WEBHOOK else None,
            send_to_owners=rng.random() < 0.2,
            send_to_followers=rng.random() < 0.2,
            send_to_admins=rng.random() < 0.2,
        ),
    )
