"""Directory of relations in SQL: implements ``flow/resolve/directory.py`` by key.

Every statement looks up a bounded list of keys through an index; none scans. Next: ``store/outbox/notifications.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, select

from tocsin.flow.resolve.directory import DownstreamStep, Member, Principal
from tocsin.model import fqn
from tocsin.model.mute import Mute
from tocsin.model.notification import ReasonKind
from tocsin.model.people import Person
from tocsin.store.alerts import relations_over_time
from tocsin.store.alerts.mutes import mutes_in
from tocsin.store.engine import reading
from tocsin.store.feed import thread_directory
from tocsin.store.people.identities import person_of
from tocsin.store.tables import entity, follow, past_relation, person

_KEYS_PER_STATEMENT = 500


class SqlDirectory:
    """The directory of one store."""

    def __init__(self, engine: Engine, from_offset: int = 0) -> None:
        self._engine, self._from = engine, from_offset

    def from_offset(self, offset: int) -> SqlDirectory:
        """Return the directory for events at this offset or later: relations that ended before are left out."""
        return SqlDirectory(self._engine, offset)

    def reach(self, entity_ids: Collection[str], depth: int) -> Iterator[DownstreamStep]:
        """Return the downstream assets of each entity within ``depth`` hops, itself (0 hops) included."""
        with reading(self._engine) as connection:
            threads = thread_directory.assets_of(connection, entity_ids) if depth else {}
            starts = {root: threads.get(root, root) for root in entity_ids}  # a thread's ways begin at its asset
            found = list(relations_over_time.reach(connection, starts, depth, self._from))
            names = _names(connection, {node for _, node, *_ in found})
        for root in (root for root, start in starts.items() if root != start):
            yield DownstreamStep(root_id=root, node_id=root, node_fqn="", hops=0)
        for root, node, hops, (since, until), last_name in found:
            name = names.get(node, last_name or ("" if hops == 0 else None))
            if name is not None:
                yield DownstreamStep(root, node, name, hops, since, until)

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
            with reading(self._engine) as connection:
                yield from relations_over_time.owners(connection, node_ids, self._from)
            return
        followers = select(follow.c.entity_id, follow.c.user_id, follow.c.since_offset)
        for row in self._by_key(followers, follow.c.entity_id, node_ids):
            yield Principal(relation, row.user_id, "user", node_id=row.entity_id, since_offset=row.since_offset)
        ended = select(past_relation).where(past_relation.c.relation == relation.value)
        gone = ended.where(past_relation.c.until_offset >= self._from)
        for row in self._by_key(gone, past_relation.c.entity_id, node_ids):
            span = {"since_offset": row.since_offset, "until_offset": row.until_offset}
            yield Principal(relation, row.other_id, row.other_type, node_id=row.entity_id, **span)

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
        """Return the people of each team, nested teams included; cycles of teams end."""
        with reading(self._engine) as connection:
            found = list(relations_over_time.members(connection, team_ids, self._from))
            names = _names(connection, team_ids)
        for team_id, user_id, (since, until) in found:
            yield Member(team_id, names.get(team_id, team_id), user_id, since, until)

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


def _names(connection: Connection, ids: Collection[str]) -> dict[str, str]:
    rows = _by_key(connection, select(entity.c.id, entity.c.fqn), entity.c.id, ids)
    return {row.id: row.fqn for row in rows}
