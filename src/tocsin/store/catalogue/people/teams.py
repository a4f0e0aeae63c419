"""Hierarchy of teams in the store: children, members, inherited roles and domains.

One recursive statement per page over the memberships; nothing is denormalized. Next:
``catalogue/people/teams.py``, which defines the allowed parents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, distinct, exists, func, literal, select, text

from tocsin.access.subject import ORGANIZATION
from tocsin.chunks import chunks_of
from tocsin.model.entity import Document
from tocsin.model.look_alikes import look_of
from tocsin.store.database import tables
from tocsin.store.database.documents import REFERENCE, from_text, reference_of, references_by_key
from tocsin.store.database.engine import is_sqlite
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.database.keys import is_one_of, rows_by_key
from tocsin.store.database.people_tables import name_look

_ENTITY = tables.entity.c
_MEMBER = tables.membership.c
_Select = Any  # Any: SQLAlchemy's select of whatever columns

_HOLD = text("SELECT pg_advisory_xact_lock(hashtext(:subject), hashtext(:value))")
_DEEPEST = 50  # levels; only a history can have brought a circle

Lists = dict[str, list[Document]]
"""References by the id of whom they concern."""


class SqlTeams:
    """The tree of teams, on the connection of a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def children(self, team_id: str) -> list[Document]:
        """Return references to the teams directly under one, each with its ``teamType``."""
        teams = children(self._connection, [team_id]).get(team_id, [])
        query = select(_ENTITY.id, _ENTITY.document)
        team_rows = rows_by_key(self._connection, query, _ENTITY.id, [one["id"] for one in teams])
        kinds = {one: from_text(text).get("teamType") or "Group" for one, text in team_rows}
        return [{**one, "teamType": kinds[one["id"]]} for one in teams]

    def decide(self, team_ids: Collection[str], names: Collection[str]) -> bool:
        """Return whether being in one of these teams, or in one of these names, decides what a person may do."""
        ids = set(team_ids).union(*_above(self._connection, sorted(team_ids)).values())
        called = {row.name for row in rows_by_key(self._connection, select(_ENTITY.name), _ENTITY.id, ids)}
        return self._have_policies(ids) or self._are_named((called | set(names)) - {ORGANIZATION})

    def _have_policies(self, team_ids: Collection[str]) -> bool:
        """Return whether one of these teams, short of the Organization, has roles or policies."""
        link = entity_reference.c
        query = select(link.entity_id).where(
            link.field.in_(("policies", "defaultRoles")), link.entity_id == _ENTITY.id, _ENTITY.name != ORGANIZATION
        )
        return any(True for _ in rows_by_key(self._connection, query.limit(1), link.entity_id, team_ids))

    def _are_named(self, names: Collection[str]) -> bool:
        """Return whether the condition of a rule names one of these teams."""
        is_policy = (_ENTITY.entity_type == "policy") & ~_ENTITY.deleted
        asks = _ENTITY.document.contains("inAnyTeam(")
        policies = self._connection.scalars(select(_ENTITY.document).where(is_policy, asks)).all()
        rules = [rule for text in policies for rule in from_text(text).get("rules") or ()]
        conditions = [str(rule.get("condition") or "") for rule in rules]
        return any(name in condition for name in names for condition in conditions)

    def at_address(self, email: str) -> Document | None:
        """Return a reference to a person with this email address, soft-deleted people included.

        It locks the address until this transaction ends, so that nobody else is given it meanwhile.
        """
        self._hold("tocsin address", email)
        return self._first(tables.person.c.user_id == _ENTITY.id, tables.person.c.email == email)

    def look_alike_of(self, name: str) -> Document | None:
        """Return a reference to a user, team or bot of another name that can be mistaken for this one.

        It locks the look until this transaction ends, so that no such name is given meanwhile.
        """
        look = look_of(name)
        self._hold("tocsin look", look)
        return self._first(name_look.c.entity_id == _ENTITY.id, name_look.c.look == look, _ENTITY.name != name)

    def _hold(self, subject: str, value: str) -> None:
        """Lock a value until this transaction ends."""
        if not is_sqlite(self._connection):  # a transaction that writes to SQLite is alone
            self._connection.execute(_HOLD, {"subject": subject, "value": value})

    def _first(self, *conditions: ColumnElement[bool]) -> Document | None:
        """Return a reference to the first entity, by FQN, that meets these conditions; None if there is none."""
        row = self._connection.execute(select(*REFERENCE).where(*conditions).order_by(_ENTITY.fqn).limit(1)).first()
        return None if row is None else reference_of(*row)

    def domains(self, member_id: str) -> list[Document]:
        """Return the domains that come down to a team or a person from the teams they are in."""
        return domains(self._connection, [member_id]).get(member_id, [])


def children(connection: Connection, team_ids: Sequence[str]) -> Lists:
    """Return the live teams directly under each; under the Organization, those that are under no other."""
    query = select(_MEMBER.team_id, *REFERENCE).where(
        _MEMBER.member_id == _ENTITY.id, _MEMBER.member_type == "team", ~_ENTITY.deleted
    )
    teams_under = references_by_key(rows_by_key(connection, query.order_by(_ENTITY.fqn), _MEMBER.team_id, team_ids))
    root = root_of(connection)
    if root and root["id"] in team_ids:
        child_rows = connection.execute(select(*REFERENCE).where(under_the_root()).order_by(_ENTITY.fqn))
        teams_under[root["id"]] = [reference_of(*row) for row in child_rows]
    return teams_under


def descendants_of(connection: Connection, team_id: str) -> list[str]:
    """Return the ids of all descendants of a team, each once and after its ancestors."""
    descendants: dict[str, None] = {}
    level = [team_id]
    for _ in range(_DEEPEST):
        level = list({one["id"]: None for many in children(connection, level).values() for one in many})
        for descendant_id in level:
            descendants.pop(descendant_id, None)  # a team with several parents follows the last of them
            descendants[descendant_id] = None
        if not level:
            break
    return list(descendants)


def teams_above(connection: Connection, team_ids: Collection[str]) -> dict[str, set[str]]:
    """Return, for these teams and each live one below, those of these teams that are above it, or it itself."""
    above: dict[str, set[str]] = defaultdict(set)
    for chunk in chunks_of(sorted(team_ids)):
        below = _walk(chunk, from_column="team_id", to_column="member_id")
        query = select(below.c.start, below.c.at).where(below.c.at == _ENTITY.id, ~_ENTITY.deleted)
        for start, at in connection.execute(query):
            above[at].add(start)
    return above


def under_the_root() -> Any:  # Any: SQLAlchemy's condition
    """Return the condition that an entity is a live team directly under the Organization."""
    has_parent = exists().where(_MEMBER.member_id == _ENTITY.id, _MEMBER.member_type == "team")
    return (_ENTITY.entity_type == "team") & ~_ENTITY.deleted & (_ENTITY.fqn != ORGANIZATION) & ~has_parent


def root_of(connection: Connection) -> Document | None:
    """Return a reference to the Organization; None before the first start."""
    query = select(*REFERENCE).where(_ENTITY.entity_type == "team", _ENTITY.fqn == ORGANIZATION, ~_ENTITY.deleted)
    row = connection.execute(query).one_or_none()
    return None if row is None else reference_of(*row)


def user_counts(connection: Connection, team_ids: Sequence[str]) -> dict[str, int]:
    """Return how many people are in each team or its descendants, each once; everybody is in the Organization."""
    counts: dict[str, int] = {}
    for chunk in chunks_of(list(team_ids)):
        below = _walk(chunk, from_column="team_id", to_column="member_id")
        live = select(below.c.start, func.count(distinct(_MEMBER.member_id)))
        live = live.where(_MEMBER.team_id == below.c.at, _MEMBER.member_type == "user", _MEMBER.member_id == _ENTITY.id)
        count_rows = connection.execute(live.where(~_ENTITY.deleted).group_by(below.c.start))
        counts |= {team_id: int(number) for team_id, number in count_rows}
    root = root_of(connection)
    if root and root["id"] in team_ids:
        person = tables.person.c
        everybody = select(func.count()).where(~person.deleted, ~person.is_bot).select_from(tables.person)
        counts[root["id"]] = int(connection.execute(everybody).scalar_one())
    return counts


def inherited_roles(connection: Connection, member_ids: Sequence[str]) -> Lists:
    """Return the default roles of all ancestors of each team or person, the Organization included."""
    above = _above(connection, member_ids)
    root = root_of(connection)
    if root:
        above = {one: teams | ({root["id"]} if root["id"] != one else set()) for one, teams in above.items()}
    roles = _references(connection, {team for teams in above.values() for team in teams}, "defaultRoles")
    return {one: _merge_lists(roles, teams) for one, teams in above.items()}


def domains(connection: Connection, member_ids: Sequence[str]) -> Lists:
    """Return the domains of the teams each team or person is in; of a team without any, those of its parents."""
    up = _parents(connection, _above(connection, member_ids))
    domains_by_team = _references(connection, {team for teams in up.values() for team in teams}, "domains")
    domains_by_member: Lists = {}
    for member_id in member_ids:
        teams, waiting, visited_teams = set[str](), list(up.get(member_id, ())), {member_id}
        while waiting:
            team = waiting.pop()
            if team not in visited_teams:
                visited_teams.add(team)
                teams |= {team} if team in domains_by_team else set()
                waiting += [] if team in domains_by_team else up.get(team, ())
        if teams:
            domains_by_member[member_id] = _merge_lists(domains_by_team, teams)
    return domains_by_member


def own_or_inherited_domains(connection: Connection, ids: Sequence[str]) -> Lists:
    """Return the domains of each of these teams or people: their own, else those that come down to them."""
    own_domains = _references(connection, ids, "domains")
    return {**domains(connection, [one for one in ids if one not in own_domains]), **own_domains}


def _above(connection: Connection, member_ids: Sequence[str]) -> dict[str, set[str]]:
    """Return the live ancestors of each team or person."""
    ancestors: dict[str, set[str]] = {one: set() for one in member_ids}
    for chunk in chunks_of(list(member_ids)):
        up = _walk(chunk, from_column="member_id", to_column="team_id")
        query = select(up.c.start, up.c.at).where(up.c.at == _ENTITY.id, ~_ENTITY.deleted, up.c.at != up.c.start)
        for start, at in connection.execute(query):
            ancestors[start].add(at)
    return ancestors


def _parents(connection: Connection, above: dict[str, set[str]]) -> dict[str, set[str]]:
    live = {team for teams in above.values() for team in teams}
    parents: dict[str, set[str]] = defaultdict(set)
    query = select(_MEMBER.member_id, _MEMBER.team_id)
    for member, team in rows_by_key(connection, query, _MEMBER.member_id, live | above.keys()):
        parents[member] |= {team} & live
    return parents


def _walk(starts: Sequence[str], *, from_column: str, to_column: str) -> Any:  # Any: SQLAlchemy's recursive query
    """Return the query for everything that memberships lead to from each of these, themselves included."""
    begin = select(_ENTITY.id.label("start"), _ENTITY.id.label("at")).where(_ENTITY.id.in_(starts))
    walk = begin.cte("walk", recursive=True)
    step = select(walk.c.start, _MEMBER[to_column]).where(_MEMBER[from_column] == walk.c.at)
    if to_column == "member_id":
        step = step.where(_MEMBER.member_type == "team")
    return walk.union(step)


def _references(connection: Connection, team_ids: Collection[str], field: str) -> Lists:
    link = entity_reference.c
    query = select(link.entity_id, *REFERENCE).where(
        link.field == literal(field), link.target_id == _ENTITY.id, ~_ENTITY.deleted
    )
    return references_by_key(rows_by_key(connection, query.order_by(_ENTITY.fqn), link.entity_id, team_ids))


def _merge_lists(lists: Lists, keys: Collection[str]) -> list[Document]:
    by_id = {one["id"]: one for key in keys for one in lists.get(key, ())}
    return sorted(by_id.values(), key=lambda one: str(one["fullyQualifiedName"]))


def memberships_in(
    connection: Connection, user_ids: Collection[str], team_ids: Collection[str]
) -> dict[str, frozenset[str]]:
    """Return, of those of these people who are in one of these teams or below it, which of these teams they are."""
    if not team_ids:
        return {}
    above = teams_above(connection, team_ids)
    query = select(_MEMBER.member_id, _MEMBER.team_id).where(is_one_of(connection, _MEMBER.team_id, above))
    team_ids_by_person: dict[str, set[str]] = defaultdict(set)
    for row in rows_by_key(connection, query, _MEMBER.member_id, user_ids):
        team_ids_by_person[row.member_id] |= above[row.team_id]
    return {person_id: frozenset(ids) for person_id, ids in team_ids_by_person.items()}
