"""Directory of relations in SQL: implements ``flow/resolve/directory.py`` by key.

Every statement looks up a bounded list of keys through an index; none scans. Next: ``store/outbox/notifications.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, select

from tocsin.flow.resolve.directory import Member, Principal, Reach
from tocsin.model import fqn
from tocsin.model.mute import Mute
from tocsin.model.notification import ReasonKind
from tocsin.model.people import Person
from tocsin.store.alerts.mutes import mutes_in
from tocsin.store.engine import reading
from tocsin.store.entities.inheritance import heritage_on
from tocsin.store.entities.tombstones import DOWNSTREAM
from tocsin.store.feed import thread_directory
from tocsin.store.people.identities import person_of
from tocsin.store.tables import entity, follow, lineage_edge, membership, ownership, person, tombstone_relation

_KEYS_PER_STATEMENT = 500


class SqlDirectory:
    """The directory of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def reach(self, entity_ids: Collection[str], depth: int) -> Iterator[Reach]:
        """Return the downstream assets of each entity within ``depth`` hops, itself (0 hops) included.

        Breadth-first, one lookup per level for all entities together, so that a node counts at its shortest
        distance and cycles end.
        """
        hops = {(root, root): 0 for root in entity_ids}
        frontier: dict[str, set[str]] = defaultdict(set)  # node -> the roots that reached it just now
        with reading(self._engine) as connection:
            threads = thread_directory.assets_of(connection, entity_ids) if depth else {}
            for root in entity_ids:
                start = threads.get(root, root)  # what is downstream of its asset is downstream of a thread
                hops[root, start] = 0
                frontier[start].add(root)
            level = 0
            while frontier and level < depth:
                level += 1
                frontier = _next_level(connection, frontier, hops, level)
            names = _names(connection, {node for _, node in hops})
        for (root, node), distance in hops.items():
            if node in names or node == root:  # the root itself may be deleted: the event is its deletion
                yield Reach(root_id=root, node_id=node, node_fqn=names.get(node, ""), hops=distance)

    def stakeholders(self, node_ids: Collection[str], relation: ReasonKind) -> Iterator[Principal]:
        """Return the principals in this relation to each node; a thread has the owners and followers of its asset."""
        with reading(self._engine) as connection:
            if relation in thread_directory.PARTS:
                yield from list(thread_directory.parts_in(connection, node_ids, relation))
                return
            threads = thread_directory.assets_of(connection, node_ids)
        places: dict[str, list[str]] = defaultdict(list)
        for node in node_ids:
            places[threads.get(node, node)].append(node)
        for principal in self._of_assets(places.keys(), relation):
            for node in places[str(principal.node_id)]:
                yield principal if node == principal.node_id else replace(principal, node_id=node)

    def _of_assets(self, node_ids: Collection[str], relation: ReasonKind) -> Iterator[Principal]:
        """Yield the owners or followers of each asset."""
        if relation is ReasonKind.OWNER:
            found: set[str] = set()
            statement = select(ownership.c.entity_id, ownership.c.owner_id, ownership.c.owner_type)
            for row in self._by_key(statement, ownership.c.entity_id, node_ids):
                found.add(row.entity_id)
                yield Principal(relation, row.owner_id, row.owner_type, node_id=row.entity_id)
            yield from self._inherited_owners([node for node in node_ids if node not in found])
        else:
            followers = select(follow.c.entity_id, follow.c.user_id, follow.c.since_offset)
            for row in self._by_key(followers, follow.c.entity_id, node_ids):
                yield Principal(relation, row.user_id, "user", node_id=row.entity_id, since_offset=row.since_offset)
        gone = select(tombstone_relation).where(tombstone_relation.c.relation == relation.value)
        for row in self._by_key(gone, tombstone_relation.c.entity_id, node_ids):
            stood = {"since_offset": row.since_offset, "until_offset": row.log_offset}
            yield Principal(relation, row.other_id, row.other_type, node_id=row.entity_id, **stood)

    def _inherited_owners(self, node_ids: Collection[str]) -> Iterator[Principal]:
        """Yield the inherited owners of entities without their own: those of the nearest ancestor that has some."""
        places = select(entity.c.id, entity.c.entity_type, entity.c.fqn)
        entries = {row.id: (row.entity_type, row.fqn) for row in self._by_key(places, entity.c.id, node_ids)}
        with reading(self._engine) as connection:
            found = heritage_on(connection, entries.values())
        for node, entry in entries.items():
            for owner in found.get(entry, {}).get("owners", ()):
                yield Principal(ReasonKind.OWNER, owner["id"], owner["type"], node_id=node)

    def named(self, relation: ReasonKind, names: Collection[str]) -> Iterator[Principal]:
        """Return the users or teams of those names, which may be quoted as in FQNs."""
        meant: dict[str, set[str]] = defaultdict(set)
        for name in names:
            meant[name].add(name)
            meant[fqn.quote(name)].add(name)
        kind = "team" if relation is ReasonKind.TEAM else "user"
        statement = select(entity.c.fqn, entity.c.id).where(entity.c.entity_type == kind, ~entity.c.deleted)
        for row in self._by_key(statement, entity.c.fqn, meant):
            yield from (Principal(relation, row.id, kind, receiver=name) for name in sorted(meant[row.fqn]))

    def administrators(self) -> Iterator[Principal]:
        """Return all administrators."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(person.c.user_id).where(person.c.is_admin)).all()
        return (Principal(ReasonKind.ADMIN, user_id, "user") for (user_id,) in rows)

    def members(self, team_ids: Collection[str]) -> Iterator[Member]:
        """Return the people of each team, nested teams included, each once; cycles of teams end."""
        with reading(self._engine) as connection:
            people, below = _teams_below(connection, team_ids)
            names = _names(connection, team_ids)
        for team_id in team_ids:
            for user_id in sorted({user for team in _closure(team_id, below) for user in people[team]}):
                yield Member(team_id=team_id, team_name=names.get(team_id, team_id), user_id=user_id)

    def people(self, user_ids: Collection[str]) -> Iterator[Person]:
        """Return the people of those ids, deleted ones and bots included."""
        for row in self._by_key(select(person), person.c.user_id, user_ids):
            yield person_of(row)

    def mutes(self, who: Collection[str], about_ids: Collection[str]) -> Iterator[Mute]:
        """Return what these people and addresses have muted of these alerts, assets, and threads about assets."""
        with reading(self._engine) as connection:
            yield from mutes_in(connection, who, about_ids)

    def _by_key(self, statement: Select[Any], column: ColumnElement[str], keys: Collection[str]) -> Iterator[Row[Any]]:
        with reading(self._engine) as connection:
            yield from _by_key(connection, statement, column, keys)


def _by_key(
    connection: Connection, statement: Select[Any], column: ColumnElement[str], keys: Collection[str]
) -> Iterator[Row[Any]]:
    """Yield the rows of ``statement`` whose ``column`` is one of ``keys``, a bounded list at a time."""
    ordered = sorted(keys)
    for start in range(0, len(ordered), _KEYS_PER_STATEMENT):
        yield from connection.execute(statement.where(column.in_(ordered[start : start + _KEYS_PER_STATEMENT])))


def _next_level(
    connection: Connection, frontier: dict[str, set[str]], hops: dict[tuple[str, str], int], level: int
) -> dict[str, set[str]]:
    """Follow every edge out of ``frontier`` once; note new nodes in ``hops`` and return them with their roots."""
    following: dict[str, set[str]] = defaultdict(set)
    edges = select(lineage_edge.c.from_id, lineage_edge.c.to_id)
    stood = tombstone_relation.c
    ended = select(stood.entity_id.label("from_id"), stood.other_id.label("to_id"))
    known = _by_key(connection, edges, lineage_edge.c.from_id, frontier)
    gone = _by_key(connection, ended.where(stood.relation == DOWNSTREAM), stood.entity_id, frontier)
    for edge in chain(known, gone):
        for root in frontier[edge.from_id]:
            if (root, edge.to_id) not in hops:
                hops[root, edge.to_id] = level
                following[edge.to_id].add(root)
    return following


def _names(connection: Connection, ids: Collection[str]) -> dict[str, str]:
    rows = _by_key(connection, select(entity.c.id, entity.c.fqn), entity.c.id, ids)
    return {row.id: row.fqn for row in rows}


def _teams_below(connection: Connection, team_ids: Collection[str]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return, for these teams and all below them, their direct people and their direct teams."""
    people: dict[str, set[str]] = defaultdict(set)
    below: dict[str, set[str]] = defaultdict(set)
    known, frontier = set(team_ids), set(team_ids)
    while frontier:
        found = set()
        for row in _by_key(connection, select(membership), membership.c.team_id, frontier):
            (below if row.member_type == "team" else people)[row.team_id].add(row.member_id)
            found.update([row.member_id] if row.member_type == "team" else [])
        frontier = found - known
        known |= found
    return people, below


def _closure(team_id: str, below: dict[str, set[str]]) -> set[str]:
    """Return ``team_id`` and every team below it."""
    seen, waiting = {team_id}, [team_id]
    while waiting:
        for team in below[waiting.pop()] - seen:
            seen.add(team)
            waiting.append(team)
    return seen
