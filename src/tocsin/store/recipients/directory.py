"""Directory of relations in SQL: implements ``flow/resolve/directory.py`` by key.

Every statement looks up a bounded list of keys through an index; none scans. Next: ``store/outbox/notifications.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, func, literal, or_, select

from tocsin.access.permission_cache import PolicySnapshot
from tocsin.access.visibility import subjects_of
from tocsin.clock import SystemClock
from tocsin.flow.resolve.directory import EVERYBODY, NO_END, DownstreamStep, HeldAddress, Member, Portion, Principal
from tocsin.model import fqn
from tocsin.model.access import Operation
from tocsin.model.change import EventType
from tocsin.model.mute import Mute
from tocsin.model.notification import ReasonKind
from tocsin.model.people import Person
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.alerts.incidents import assignees_at
from tocsin.store.catalogue.feed import thread_directory
from tocsin.store.catalogue.people.own_addresses import held_addresses
from tocsin.store.catalogue.people.push_browsers import PushBrowsers
from tocsin.store.database.engine import reading
from tocsin.store.database.entity_names import PRESENT_OR_DELETED
from tocsin.store.database.entity_tables import former_name
from tocsin.store.database.follow_tables import column_follow, team_follow
from tocsin.store.database.keys import is_one_of, rows_by_key, rows_of_all
from tocsin.store.database.tables import change_event, entity, follow, past_relation, person
from tocsin.store.eventlog.log import events_at
from tocsin.store.recipients import relations_over_time
from tocsin.store.recipients.asked import people_asked_at
from tocsin.store.recipients.belonging import Belonging, KnownBelongings
from tocsin.store.recipients.case_assignees import case_assignees_at
from tocsin.store.recipients.column_followers import ColumnFollow, EventColumns, column_followers
from tocsin.store.recipients.mutes import mutes_in
from tocsin.store.recipients.portion_cuts import find_cuts
from tocsin.store.recipients.relations_over_time import KnownRelations
from tocsin.store.recipients.subject_assets import KnownSubjects, SubjectAssets, find_subject_assets
from tocsin.store.recipients.team_follows import MemberFollow, TeamFollow, expand_team_follows

_MOST_REFUSALS = 10_000
"""Refused accesses that are looked up at once: more than any micro-batch has."""

_PAST, _COLUMN, _TEAM = past_relation.c, column_follow.c, team_follow.c
_OF_PERSON = (literal(None), literal(False))
_COLUMN_FOLLOWS = select(
    _COLUMN.entity_id, _COLUMN.user_id, _COLUMN.since_offset, _COLUMN.until_offset, _COLUMN.column_path, literal(False)
)
_TEAM_FOLLOWS = select(
    _TEAM.entity_id, _TEAM.team_id, _TEAM.since_offset, _TEAM.until_offset, literal(None), literal(True)
)
_PEOPLE = select(*(person.c["user_id" if name == "id" else name] for name in Person._fields))


class SqlDirectory:
    """The directory of one store.

    What threads and tests are about, and what assets belong to, is looked up once where it is remembered, as it is for
    some events.
    """

    def __init__(self, engine: Engine, from_offset: int = 0, portion: Portion = EVERYBODY) -> None:
        self._engine, self._from, self._portion = engine, from_offset, portion
        self._subjects: KnownSubjects | None = None
        self._memory: KnownRelations | None = None
        self._belongings: KnownBelongings | None = None
        self._event_columns = EventColumns({})
        self._policies: PolicySnapshot | None = None

    def for_events(self, events: Mapping[int, str]) -> SqlDirectory:
        """Return the directory for some events, by offset the entity of each: relations that ended before are left out.

        Who follows a column is told of these events alone.
        """
        directory, first = self.with_columns_of(events), min(events, default=0)
        directory._from, directory._subjects, directory._memory = first, KnownSubjects(), KnownRelations(first)
        directory._belongings = KnownBelongings(directory._memory)
        return directory

    def with_columns_of(self, events: Mapping[int, str]) -> SqlDirectory:
        """Return the directory that knows who follows the columns that these events are about, by offset the entity."""
        directory = copy(self)
        directory._event_columns = EventColumns(events)
        return directory

    def of(self, portion: Portion) -> SqlDirectory:
        """Return the directory of some people: of others it knows no relation."""
        directory = copy(self)
        directory._portion = portion
        return directory

    def with_rights(self, policies: PolicySnapshot) -> SqlDirectory:
        """Return the directory that marks follows of what their followers may not view, as these policies say."""
        directory = copy(self)
        directory._policies = policies
        return directory

    def cuts(self, node_ids: Collection[str], size: int) -> list[str]:
        """Return the ids of people that cut the follows of these nodes into parts of ``size``; none if one does.

        A part has at most one person more (``portion_cuts.py``).
        """
        with reading(self._engine) as connection:
            return find_cuts(connection, self._node_counts(connection, node_ids), size)

    def _node_counts(self, connection: Connection, node_ids: Collection[str]) -> Counter[str]:
        """Return how many of these nodes a follower has, for each entity that could be followed for one of them."""
        assets = self._subject_assets(connection, node_ids)
        places = _places_of(node_ids, assets, ReasonKind.FOLLOWER)
        node_counts = Counter({asset_id: len(nodes) for asset_id, nodes in places.items()})
        for asset_id, containers in self._belongings_of(connection, places, assets.of_tests).items():
            for belonging in containers:
                node_counts[str(belonging.container.id)] += len(places[asset_id])
        return node_counts

    def first_followers(self, node_id: str, limit: int) -> tuple[list[str], int]:
        """Return the first people, by id, who follow a node now, or what contains it, and how many follow it."""
        with reading(self._engine) as connection:
            assets = self._subject_assets(connection, [node_id])
            places = _places_of([node_id], assets, ReasonKind.FOLLOWER)
            belongings = chain.from_iterable(self._belongings_of(connection, places, assets.of_tests).values())
            container_ids = {str(one.container.id) for one in belongings if one.until_offset == NO_END}
            is_followed = is_one_of(connection, follow.c.entity_id, {*places, *container_ids})
            follower_ids = select(follow.c.user_id).where(is_followed).distinct()
            first_ids = list(connection.scalars(follower_ids.order_by(follow.c.user_id).limit(limit)))
            count = connection.scalar(select(func.count()).select_from(follower_ids.subquery()))
        return first_ids, count or 0

    def people_sharing(self, addresses: Collection[str]) -> set[str]:
        """Return the people with one of these addresses, and all who have the same address as another person."""
        shared = select(person.c.email).group_by(person.c.email).having(func.count() > 1)
        with reading(self._engine) as connection:
            is_named = is_one_of(connection, person.c.email, addresses)
            return set(connection.scalars(select(person.c.user_id).where(or_(person.c.email.in_(shared), is_named))))

    def reach(self, entity_ids: Collection[str], depth: int, *, only_live: bool = False) -> Iterator[DownstreamStep]:
        """Return the downstream assets of each entity within ``depth`` hops, itself (0 hops) included.

        With ``only_live``, assets are not reached while they are soft-deleted, and nothing through them.
        """
        with reading(self._engine) as connection:
            assets = self._subject_assets(connection, entity_ids) if depth else SubjectAssets({}, {})
            # The ways of threads and tests begin at their asset.
            starts = {root: assets.of(root) for root in entity_ids}
            steps = list(relations_over_time.reach(connection, starts, depth, self._from, only_live=only_live))
            names = full_names_of(connection, {node for _, node, *_ in steps})
        for root in (root for root, start in starts.items() if root != start):
            yield DownstreamStep(root_id=root, node_id=root, node_fqn="", hops=0)
        for root, node, hops, (since, until), last_name in steps:
            if hops == 0 and root in assets.of_tests:
                continue  # a test inherits its table's owners only where it has none of its own
            name = names.get(node, last_name or ("" if hops == 0 else None))
            if name is not None:
                yield DownstreamStep(root, node, name, hops, since, until)

    def refused_assets(self, entity_ids: Collection[str]) -> Iterator[DownstreamStep]:
        """Return the asset of each refused access that a policy's event tells of, for that event alone."""
        refused_at = change_event.c.log_offset
        with reading(self._engine) as connection:
            policies = self._subject_assets(connection, entity_ids).policies
            if not policies:
                return
            is_refusal = change_event.c.event_type == EventType.POLICY_VIOLATION
            query = select(refused_at).where(is_one_of(connection, change_event.c.entity_id, policies), is_refusal)
            query = query.where(refused_at >= self._from).order_by(refused_at).limit(_MOST_REFUSALS)
            refusals = events_at(connection, list(connection.scalars(query)))
        for offset, event in refusals.items():
            for asset in subjects_of(event)[1:]:
                yield DownstreamStep(event.entity_id, str(asset["id"]), "", 0, offset, offset)

    def stakeholders(self, node_ids: Collection[str], relation: ReasonKind) -> Iterator[Principal]:
        """Return the principals in this relation to each node; a thread has the owners and followers of its asset.

        A test case has the followers of its table beside its own; owners it inherits. Who follows what an asset belongs
        to follows the asset (``belonging.py``).
        """
        with reading(self._engine) as connection:
            if relation is ReasonKind.ASKED:
                yield from self._in_portion(list(people_asked_at(connection, node_ids, self._from)))
                return
            if relation in thread_directory.PARTS:
                yield from self._in_portion(list(thread_directory.parts_in(connection, node_ids, relation)))
                if relation is ReasonKind.ASSIGNEE:
                    yield from self._in_portion(assignees_at(connection, node_ids, self._from))
                    yield from self._in_portion(case_assignees_at(connection, node_ids, self._from))
                return
            assets = self._subject_assets(connection, node_ids)
        places = _places_of(node_ids, assets, relation)
        column_follows: list[ColumnFollow] = []
        principals = self._owners(places)
        if relation is not ReasonKind.OWNER:
            principals = self._mark_hidden(self._followers(places, assets.of_tests, column_follows))
        for principal in self._in_portion(principals):
            for node in places[str(principal.node_id)]:
                yield principal if node == principal.node_id else _of_subject(principal, node)
        if column_follows:
            with reading(self._engine) as connection:
                of_columns = list(column_followers(connection, column_follows, places, assets, self._event_columns))
            yield from self._in_portion(self._mark_hidden(iter(of_columns)))

    def _owners(self, asset_ids: Collection[str]) -> Iterator[Principal]:
        with reading(self._engine) as connection:
            yield from relations_over_time.owners(connection, asset_ids, self._from, self._memory)

    def _followers(
        self, asset_ids: Collection[str], test_ids: Collection[str], column_follows: list[ColumnFollow]
    ) -> Iterator[Principal]:
        """Yield who follows each of these assets, and who follows what it belongs to; a test belongs to its table.

        Follows of their columns are added to ``column_follows``: which events these concern is another question.
        """
        with reading(self._engine) as connection:
            belongings = self._belongings_of(connection, asset_ids, test_ids)
        contents: dict[str, list[tuple[str, Belonging]]] = defaultdict(list)
        for asset_id, containers in belongings.items():
            for belonging in containers:
                contents[str(belonging.container.id)].append((asset_id, belonging))
        team_follows: list[TeamFollow] = []
        for followed_id, follower_id, since, until, column_path, is_of_team in self._follows({*asset_ids, *contents}):
            if is_of_team:
                team_follows.append(TeamFollow(followed_id, follower_id, (since, until)))
            elif column_path is None:
                yield from _covered_assets(MemberFollow(followed_id, follower_id, (since, until)), asset_ids, contents)
            elif followed_id in asset_ids:
                column_follows.append(ColumnFollow(followed_id, follower_id, since, until, column_path))
        if team_follows:
            with reading(self._engine) as connection:
                of_members = expand_team_follows(connection, team_follows, self._from, self._portion.holds)
                for member_follow in of_members:
                    yield from _covered_assets(member_follow, asset_ids, contents)

    def _mark_hidden(self, followers: Iterator[Principal]) -> Iterator[Principal]:
        """Return followers, of whom those are marked who may not view what they follow in place of an asset."""
        policies = self._policies
        if policies is None or policies.are_all_open():
            return followers
        principals = list(followers)
        hideable = [one for one in principals if one.through and not policies.is_open(one.through.type)]
        containers = SqlEntityStates(self._engine).of({str(one.through.id) for one in hideable if one.through})
        permissions = policies.of_many({one.principal_id for one in hideable})

        def is_hidden(principal: Principal) -> bool:
            through = principal.through
            if through is None or policies.is_open(through.type):
                return False
            subject = containers.get(str(through.id))
            return subject is None or not permissions[principal.principal_id].may(Operation.VIEW_BASIC, *subject)

        return (one._replace(is_hidden=True) if is_hidden(one) else one for one in principals)

    def _follows(self, entity_ids: Collection[str]) -> Iterator[tuple[str, str, int, int, str | None, bool]]:
        """Yield who follows each of these entities, and for which events: entity, person, first and last offset.

        Then come the column that they follow, None where it is the entity, and whether it is a team, not a person.
        """
        follows = select(follow.c.entity_id, follow.c.user_id, follow.c.since_offset, literal(NO_END), *_OF_PERSON)
        past_follows = select(_PAST.entity_id, _PAST.other_id, _PAST.since_offset, _PAST.until_offset, *_OF_PERSON)
        past_follows = past_follows.where(_PAST.relation == ReasonKind.FOLLOWER.value, _PAST.until_offset >= self._from)
        with reading(self._engine) as connection:
            of_person = list(self._ours(connection, follow.c.user_id))
            of_columns = _COLUMN_FOLLOWS.where(_COLUMN.until_offset >= self._from)
            of_columns = of_columns.where(*self._ours(connection, _COLUMN.user_id))
            of_teams = _TEAM_FOLLOWS.where(_TEAM.until_offset >= self._from)
            kinds = (
                (follows.where(*of_person), follow.c.entity_id),
                (of_columns, _COLUMN.entity_id),
                (of_teams, _TEAM.entity_id),
            )
            yield from cast(Iterable[Any], rows_of_all(connection, kinds, entity_ids))
        past_rows = self._by_key(past_follows, _PAST.entity_id, entity_ids, person_id=_PAST.other_id)
        yield from cast(Iterable[Any], past_rows)

    def principals_named(self, relation: ReasonKind, names: Collection[str]) -> Iterator[Principal]:
        """Return the users or teams of those names, which may be quoted as in FQNs.

        A name that nobody has any more means who had it last: the alert may have been read before they were renamed.
        """
        names_by_fqn: dict[str, set[str]] = defaultdict(set)
        for name in names:
            names_by_fqn[name].add(name)
            names_by_fqn[fqn.quote(name)].add(name)
        kind = "team" if relation is ReasonKind.TEAM else "user"
        ids_by_fqn = self._holders(kind, names_by_fqn)
        for full_name, principal_id in ids_by_fqn.items():
            principals = (
                Principal(relation, principal_id, kind, receiver=name) for name in sorted(names_by_fqn[full_name])
            )
            yield from self._in_portion(principals)

    def _holders(self, kind: str, fqns: Collection[str]) -> dict[str, str]:
        """Return the ids of the users or teams that have these FQNs, or had one that nobody has now."""
        columns = select(entity.c.fqn, entity.c.id, entity.c.deleted)
        of_kind = columns.where(entity.c.entity_type == kind, PRESENT_OR_DELETED)
        holders = {row.fqn: row for row in self._by_key(of_kind, entity.c.fqn, fqns)}
        present = {full_name: str(row.id) for full_name, row in holders.items() if not row.deleted}
        vacant = [full_name for full_name in fqns if full_name not in holders]
        if not vacant:
            return present
        former_names = select(former_name.c.fqn, entity.c.id).join(entity, entity.c.id == former_name.c.entity_id)
        renamed_entities = former_names.where(former_name.c.entity_type == kind, ~entity.c.deleted)
        return {row.fqn: str(row.id) for row in self._by_key(renamed_entities, former_name.c.fqn, vacant)} | present

    def administrators(self) -> Iterator[Principal]:
        """Return all administrators."""
        with reading(self._engine) as connection:
            admins = connection.execute(select(person.c.user_id).where(person.c.is_admin)).all()
        return self._in_portion(Principal(ReasonKind.ADMIN, user_id, "user") for (user_id,) in admins)

    def members(self, team_ids: Collection[str]) -> Iterator[Member]:
        """Return the people of each team, nested teams included; cycles of teams end."""
        with reading(self._engine) as connection:
            memberships = list(
                relations_over_time.members_over_time(connection, team_ids, self._from, self._portion.holds)
            )
            names = full_names_of(connection, team_ids)
        for team_id, user_id, (since, until) in memberships:
            yield Member(team_id, names.get(team_id, team_id), user_id, since, until)

    def people(self, user_ids: Collection[str]) -> Iterator[Person]:
        """Return the people of those ids, deleted ones and bots included."""
        yield from map(Person._make, self._by_key(_PEOPLE, person.c.user_id, user_ids))

    def own_addresses(self, holder_ids: Collection[str]) -> Iterator[HeldAddress]:
        """Return the addresses that these people and teams have in their profiles, if it is known who set them."""
        with reading(self._engine) as connection:
            yield from held_addresses(connection, holder_ids)

    def people_with_browser(self, user_ids: Collection[str]) -> set[str]:
        """Return those of these people who take push messages in a browser now."""
        return PushBrowsers(self._engine).holders(user_ids, SystemClock().now_ms())

    def mutes(self, who: Collection[str], about_ids: Collection[str]) -> Iterator[Mute]:
        """Return what these have muted of these alerts, assets, what contains them, and threads about assets."""
        with reading(self._engine) as connection:
            memory = self._memory or KnownRelations(self._from)
            yield from mutes_in(connection, who, about_ids, memory, find_subjects=self._subject_assets)

    def _subject_assets(self, connection: Connection, ids: Collection[str]) -> SubjectAssets:
        if self._subjects is None:
            return find_subject_assets(connection, ids)
        return self._subjects.of(connection, ids)

    def _belongings_of(
        self, connection: Connection, ids: Collection[str], test_ids: Collection[str]
    ) -> Mapping[str, Sequence[Belonging]]:
        """Return what assets belong to; those of the ids that are tests belong to their table alone."""
        asset_ids = [one for one in ids if one not in test_ids]
        belongings = self._belongings or KnownBelongings(KnownRelations(self._from))
        return belongings.of(connection, asset_ids)

    def _in_portion(self, principals: Iterable[Principal]) -> Iterator[Principal]:
        """Yield those who are no person, or one of ours."""
        if self._portion is EVERYBODY:
            yield from principals
            return
        holds = self._portion.holds
        yield from (one for one in principals if one.principal_type != "user" or holds(one.principal_id))

    def _by_key(
        self,
        statement: Select[Any],
        column: ColumnElement[str],
        keys: Collection[str],
        *,
        person_id: ColumnElement[str] | None = None,
    ) -> Iterator[Row[Any]]:
        """Yield the rows whose ``column`` is one of ``keys``; with a ``person_id`` those of our people and few more."""
        with reading(self._engine) as connection:
            person_conditions = () if person_id is None else self._ours(connection, person_id)
            yield from rows_by_key(connection, statement.where(*person_conditions), column, keys)

    def _ours(self, connection: Connection, person_id: ColumnElement[str]) -> Iterator[ColumnElement[bool]]:
        portion = self._portion
        if portion.only is not None:
            yield is_one_of(connection, person_id, portion.only)
        if portion.after:
            yield person_id > portion.after
        if portion.through is not None:
            yield person_id <= portion.through


def _covered_assets(
    row: MemberFollow, asset_ids: Collection[str], contents: Mapping[str, Sequence[tuple[str, Belonging]]]
) -> Iterator[Principal]:
    """Yield a person as a follower of those of these assets that a follow is of, or of what belongs to it."""
    followed_id, user_id, (since, until), team = row
    principal = Principal(ReasonKind.FOLLOWER, user_id, "user", followed_id, "", since, until, team=team)
    if followed_id in asset_ids:
        yield principal
    for asset_id, belonging in contents.get(followed_id, ()):
        first, last = max(since, belonging.since_offset), min(until, belonging.until_offset)
        if first <= last:
            through = belonging.container
            yield principal._replace(node_id=asset_id, since_offset=first, until_offset=last, through=through)


def _of_subject(principal: Principal, node_id: str) -> Principal:
    """Return a principal of the asset that a node is about as one of the node."""
    is_itself_followed = principal.relation is ReasonKind.FOLLOWER and principal.through is None
    followed_id = principal.node_id if is_itself_followed else None
    return principal._replace(node_id=node_id, is_of_subject=True, follow=followed_id)


def _places_of(node_ids: Collection[str], assets: SubjectAssets, relation: ReasonKind) -> dict[str, list[str]]:
    """Return the nodes that have the owners or followers of each asset: itself, its threads, a table's tests."""
    places: dict[str, list[str]] = defaultdict(list)
    for node in node_ids:
        places[assets.of_threads.get(node, node)].append(node)
    for node, table in assets.of_tests.items() if relation is ReasonKind.FOLLOWER else ():
        places[table].append(node)
    return places


def full_names_of(connection: Connection, ids: Collection[str]) -> dict[str, str]:
    """Return the full names of those of these entities that are there, by id."""
    return dict(map(tuple, rows_by_key(connection, select(entity.c.id, entity.c.fqn), entity.c.id, ids)))
