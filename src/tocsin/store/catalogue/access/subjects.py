"""Subjects of access decisions, read from the store by key; implements ``access/permission_cache.py``'s ``Subjects``.

A few statements for any number of people; none scans. Next: ``store/catalogue/access/visibility.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from sqlalchemy import Connection, Engine, select

from tocsin.access.bind import asks_for_team
from tocsin.access.defaults import BOT_WITHOUT_ROLES
from tocsin.access.policy_dependencies import policy_dependencies_of
from tocsin.access.rules import Policy, policy_of
from tocsin.access.subject import ORGANIZATION, Grant, Subject
from tocsin.access.unmapped import POLICY_NAME as UNMAPPED_POLICY
from tocsin.store.catalogue.access import rules_revision
from tocsin.store.database.documents import from_text
from tocsin.store.database.engine import asking, fetch_values, reading
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity, entity_tag, membership, person

_REFERS = entity_reference.c
Ids = set[str]
Under = Callable[[Connection, str], frozenset[str]]


class SqlSubjects:
    """The people of one store, as rules see them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._members: tuple[int, dict[str, frozenset[str]]] = (-1, {})

    def revision(self) -> int:
        """Return a number that grows with every change that rules depend on."""
        with asking(self._engine) as connection:
            return rules_revision.read(connection)

    def subjects(self, user_ids: Collection[str]) -> dict[str, Subject]:
        """Return the people and bots of those ids; unknown and deleted ones have no entry."""
        with reading(self._engine) as connection:
            people = [
                row for row in rows_by_key(connection, select(person), person.c.user_id, user_ids) if not row.deleted
            ]
            lookup = _SubjectLookup.of_people(connection, [row.user_id for row in people], self._members_under)
            return {
                row.user_id: lookup.person(row.user_id, row.name, is_admin=row.is_admin, is_bot=row.is_bot)
                for row in people
            }

    def stranger(self) -> Subject:
        """Return what everybody is at least: a person in no team, with no role of their own."""
        with reading(self._engine) as connection:
            return _SubjectLookup.of_people(connection, [], self._members_under).person(
                "", "", is_admin=False, is_bot=False
            )

    def policies(self) -> list[Policy]:
        """Return all policies."""
        query = select(entity.c.document).where(entity.c.entity_type == "policy", ~entity.c.deleted)
        return [_policy(text) for text in fetch_values(self._engine, query)]

    def policies_in_use(self) -> set[str]:
        """Return the ids of the policies that some team or role has."""
        return set(fetch_values(self._engine, select(_REFERS.target_id).where(_REFERS.field == "policies")))

    def _members_under(self, connection: Connection, team_id: str) -> frozenset[str]:
        """Return who is in a team or under it, looked up once for as long as nothing changes."""
        revision = rules_revision.read(connection)
        if self._members[0] != revision:
            self._members = (revision, {})
        members_by_team = self._members[1]
        if team_id not in members_by_team:
            members_by_team[team_id] = _members_under(connection, team_id)
        return members_by_team[team_id]


@dataclass
class _SubjectLookup:
    """What was looked up for some people together; ``under`` looks up who is in a team or under it."""

    under: Under
    roles_of: dict[str, Ids] = field(default_factory=lambda: defaultdict(set))
    domains_of: dict[str, Ids] = field(default_factory=lambda: defaultdict(set))
    teams_of: dict[str, Ids] = field(default_factory=lambda: defaultdict(set))
    above: dict[str, Ids] = field(default_factory=lambda: defaultdict(set))
    team_names: dict[str, str] = field(default_factory=dict)
    team_policies: dict[str, Ids] = field(default_factory=lambda: defaultdict(set))
    team_roles: dict[str, Ids] = field(default_factory=lambda: defaultdict(set))
    role_names: dict[str, str] = field(default_factory=dict)
    role_policies: dict[str, Ids] = field(default_factory=lambda: defaultdict(set))
    policies: dict[str, Policy] = field(default_factory=dict)
    members: dict[str, frozenset[str]] = field(default_factory=dict)
    organization_id: str | None = None
    bot_role_id: str | None = None
    carriers: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of_people(cls, connection: Connection, user_ids: Collection[str], under: Under) -> _SubjectLookup:
        """Look up everything about these people, a level at a time for all of them."""
        lookup = cls(under)
        lookup.organization_id = _id_of(connection, "team", ORGANIZATION)
        lookup.bot_role_id = _id_of(connection, "role", BOT_WITHOUT_ROLES)
        lookup._people(connection, user_ids)
        lookup._teams(connection)
        lookup._roles(connection)
        lookup._policies(connection)
        lookup._carriers(connection)
        return lookup

    def person(self, user_id: str, name: str, *, is_admin: bool, is_bot: bool) -> Subject:
        """Return the subject of a person, with every policy that applies to them."""
        own_roles = self.roles_of.get(user_id, set()) & self.role_names.keys()
        if is_bot and not own_roles and self.bot_role_id in self.role_names:
            own_roles = {str(self.bot_role_id)}
        teams = self._teams_of(user_id)
        inherited_roles = set() if is_bot else {role for team in teams for role in self.team_roles[team]}
        roles = own_roles | (inherited_roles & self.role_names.keys())
        return Subject(
            id=user_id,
            name=name,
            is_admin=is_admin,
            is_bot=is_bot,
            domains=frozenset(self._domains_of(user_id)),
            teams=frozenset(teams),
            team_names=frozenset(self.team_names[team] for team in teams),
            role_names=frozenset(self.role_names[role] for role in roles),
            grants=tuple(dict.fromkeys(self._grants(own_roles, teams, is_bot=is_bot))),
            members=self.members,
            organization_id=self.organization_id,
            carriers=self.carriers,
        )

    def _grants(self, roles: Ids, teams: Ids, *, is_bot: bool) -> Iterator[Grant]:
        for role in sorted(roles, key=self.role_names.__getitem__):
            yield from self._of_role(role, None)
        if is_bot:
            yield from self._of_everybody()
        for team in sorted(teams if not is_bot else ()):
            for role in sorted(self.team_roles[team] & self.role_names.keys(), key=self.role_names.__getitem__):
                yield from self._of_role(role, team)
            yield from self._of_team(team, is_foreign=False)
        for team in sorted(self.team_policies.keys() - teams):
            yield from self._of_team(team, is_foreign=True)

    def _of_everybody(self) -> Iterator[Grant]:
        """Yield what holds for bots as well, though they inherit nothing else."""
        for policy in sorted(self.team_policies.get(self.organization_id or "", set()) & self.policies.keys()):
            if self.policies[policy].name == UNMAPPED_POLICY:
                yield Grant(self.policies[policy], team_id=self.organization_id)

    def _of_role(self, role: str, team: str | None) -> Iterator[Grant]:
        for policy in sorted(self.role_policies[role] & self.policies.keys()):
            yield Grant(self.policies[policy], role=self.role_names[role], team_id=team)

    def _of_team(self, team: str, *, is_foreign: bool) -> Iterator[Grant]:
        for policy in sorted(self.team_policies[team] & self.policies.keys()):
            yield Grant(self.policies[policy], team_id=team, is_foreign=is_foreign)

    def _teams_of(self, user_id: str) -> Ids:
        """Return a person's teams, their ancestors, and the organization."""
        teams, waiting = set(), [team for team in self.teams_of.get(user_id, ()) if team in self.team_names]
        while waiting:
            team = waiting.pop()
            if team not in teams:
                teams.add(team)
                waiting.extend(one for one in self.above[team] if one in self.team_names)
        return teams | ({self.organization_id} if self.organization_id in self.team_names else set())

    def _domains_of(self, user_id: str) -> Ids:
        """Return a person's domains; if they have none, those of their teams, or of their ancestors."""
        if self.domains_of.get(user_id):
            return self.domains_of[user_id]
        domains, visited, waiting = set[str](), set[str](), list(self.teams_of.get(user_id, ()))
        while waiting:
            team = waiting.pop()
            if team in visited or team not in self.team_names:
                continue
            visited.add(team)
            domains |= self.domains_of.get(team, set())
            waiting.extend(() if self.domains_of.get(team) else self.above[team])
        return domains

    def _people(self, connection: Connection, user_ids: Collection[str]) -> None:
        _note_references(connection, user_ids, {"roles": self.roles_of, "domains": self.domains_of})
        for row in rows_by_key(connection, select(membership), membership.c.member_id, user_ids):
            self.teams_of[row.member_id].add(row.team_id)

    def _teams(self, connection: Connection) -> None:
        """Follow memberships upwards, then look up the teams' names, roles and policies."""
        frontier = {team for teams in self.teams_of.values() for team in teams}
        team_ids = set(frontier)
        while frontier:
            memberships = list(rows_by_key(connection, select(membership), membership.c.member_id, frontier))
            for row in memberships:
                self.above[row.member_id].add(row.team_id)
            frontier = {row.team_id for row in memberships} - team_ids
            team_ids |= frontier
        team_ids |= {self.organization_id} if self.organization_id else set()
        self._look_up_restricting_teams(connection)
        self.team_names = _live_names(connection, team_ids | self.team_policies.keys())
        _note_references(connection, team_ids, {"defaultRoles": self.team_roles, "domains": self.domains_of})

    def _look_up_restricting_teams(self, connection: Connection) -> None:
        """Look up every team with policies of its own: they apply to what it owns, for every person."""
        policies, teams = entity.alias(), entity.alias()
        query = (
            select(_REFERS.entity_id, _REFERS.target_id)
            .join(policies, policies.c.id == _REFERS.target_id)
            .join(teams, teams.c.id == _REFERS.entity_id)
            .where(policies.c.entity_type == "policy", _REFERS.field == "policies")
            .where(teams.c.entity_type == "team", ~teams.c.deleted)
        )
        for team_id, policy_id in connection.execute(query):
            self.team_policies[team_id].add(policy_id)

    def _roles(self, connection: Connection) -> None:
        roles = {role for of in (self.roles_of, self.team_roles) for given in of.values() for role in given}
        roles |= {self.bot_role_id} if self.bot_role_id else set()
        self.role_names = _live_names(connection, roles)
        _note_references(connection, roles, {"policies": self.role_policies})

    def _policies(self, connection: Connection) -> None:
        """Read the policies, and who is in the teams that they ask about."""
        ids = {one for of in (self.team_policies, self.role_policies) for given in of.values() for one in given}
        query = select(entity.c.document).where(~entity.c.deleted)
        for row in rows_by_key(connection, query, entity.c.id, ids):
            policy = _policy(row.document)
            self.policies[policy.id] = policy
        asking = {team for team, given in self.team_roles.items() if self._asks_for_team(given)}
        for team in (self.team_policies.keys() | asking) - {self.organization_id}:
            self.members[team] = self.under(connection, str(team))

    def _carriers(self, connection: Connection) -> None:
        """Look up the terms with a label that the policies name: assets with the term have the label."""
        terms: dict[str, Ids] = defaultdict(set)
        query = select(entity_tag.c.tag_fqn, entity.c.fqn).join(entity, entity.c.id == entity_tag.c.entity_id)
        query = query.where(entity.c.entity_type == "glossaryTerm")
        for row in rows_by_key(
            connection, query, entity_tag.c.tag_fqn, policy_dependencies_of(self.policies.values()).labels
        ):
            terms[row.tag_fqn].add(row.fqn)
        self.carriers = {label: frozenset(fqns) for label, fqns in terms.items()}

    def _asks_for_team(self, roles: Ids) -> bool:
        policies = {policy for role in roles for policy in self.role_policies[role]}
        return any(asks_for_team(self.policies[one]) for one in policies if one in self.policies)


@lru_cache(maxsize=1_000)
def _policy(text: str) -> Policy:
    """Return a stored policy, parsed; parsing its conditions costs more than reading it."""
    return policy_of(from_text(text))


def _id_of(connection: Connection, entity_type: str, name: str) -> str | None:
    query = select(entity.c.id).where(entity.c.entity_type == entity_type, entity.c.fqn == name, ~entity.c.deleted)
    return connection.execute(query).scalar_one_or_none()


def _note_references(connection: Connection, ids: Collection[str], targets_by_field: dict[str, dict[str, Ids]]) -> None:
    """Add to each field's ids by entity what these entities name there."""
    query = select(_REFERS.entity_id, _REFERS.field, _REFERS.target_id).where(_REFERS.field.in_(targets_by_field))
    for entity_id, field_name, target_id in rows_by_key(connection, query, _REFERS.entity_id, ids):
        targets_by_field[field_name][entity_id].add(target_id)


def _live_names(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    query = select(entity.c.id, entity.c.name).where(~entity.c.deleted)
    return {row.id: row.name for row in rows_by_key(connection, query, entity.c.id, set(ids))}


def _members_under(connection: Connection, team_id: str) -> frozenset[str]:
    """Return the ids of a team and of all teams and people under it."""
    ids, frontier = {team_id}, {team_id}
    while frontier:
        memberships = rows_by_key(connection, select(membership), membership.c.team_id, frontier)
        members = {(row.member_id, row.member_type) for row in memberships}
        frontier = {one for one, kind in members if kind == "team"} - ids
        ids |= {one for one, _ in members}
    return frozenset(ids)
