"""Downstream impact of an asset with owners: one query per level, limited to the number of assets asked for.

A pipeline that carries an edge is reached with it; for a pipeline, the assets it writes come first. The downstream
assets of a deleted entity are kept (``store/catalogue/relations/past.py``). Next:
``flow/resolve/impact.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sqlalchemy import Connection, Engine, distinct, func, select

from tocsin.chunks import chunks_of
from tocsin.flow.resolve.impact import Reached, Walk
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.lineage import Edge
from tocsin.store.catalogue.relations import lineage_edges as edges
from tocsin.store.catalogue.relations.owners import owners_of
from tocsin.store.catalogue.relations.past import DOWNSTREAM
from tocsin.store.database.documents import REFERENCE, reference_of
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event, entity, follow, lineage_carrier, past_relation, person
from tocsin.store.recipients.directory import SqlDirectory

MOST_ASSETS = 1000
"""Assets that one walk can reach."""

_EDGES_AN_ASSET = 10


class Impact:
    """Reads what a change of an asset reaches."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._directory = SqlDirectory(engine)

    def walk(self, root: Document, depth: int, max_assets: int = MOST_ASSETS) -> Walk:
        """Return the downstream assets of ``root``, at most ``max_assets``, nearest first.

        Soft-deleted assets are not reached, and nothing through them.
        """
        steps = _Steps(root, max_assets)
        with reading(self._engine) as connection:
            for number in range(1, depth + 1):
                if not steps.front or steps.is_cut:
                    break
                first = _first(connection, root) if number == 1 else ()
                limit = max_assets * _EDGES_AN_ASSET
                steps.take(number, [*first, *_outgoing_edges(connection, sorted(steps.front), limit)], limit)
        return Walk(tuple(steps.found.values()), tuple(steps.edges), steps.is_cut)

    def owners(self, entity_ids: Collection[str]) -> dict[str, list[Document]]:
        """Return the owners of each asset, inherited ones marked."""
        with reading(self._engine) as connection:
            return owners_of(connection, entity_ids)

    def people(self, owners: Iterable[Document]) -> set[str]:
        """Return the ids of the people these owners are or consist of, without bots and who is deleted."""
        return set().union(*self.people_by_owner(owners).values())

    def people_by_owner(self, owners: Iterable[Document]) -> dict[str, set[str]]:
        """Return, by the id of each owner, the people that ``people`` returns of it."""
        types = {owner["id"]: owner["type"] for owner in owners}
        pairs = {(owner_id, owner_id) for owner_id, type_ in types.items() if type_ == "user"}
        teams = {owner_id for owner_id, type_ in types.items() if type_ == "team"}
        pairs |= {(member.team_id, member.user_id) for member in self._directory.members(teams)}
        users = self._directory.people({user_id for _, user_id in pairs})
        active = {person.id for person in users if not (person.is_bot or person.deleted)}
        people: dict[str, set[str]] = {owner_id: set() for owner_id in types}
        for owner_id, user_id in pairs:
            people[owner_id] |= {user_id} & active
        return people

    def followers(self, entity_id: str) -> list[str]:
        """Return the ids of the people who follow an asset, without bots and who is deleted."""
        query = select(follow.c.user_id).join(person, person.c.user_id == follow.c.user_id)
        query = query.where(follow.c.entity_id == entity_id, ~person.c.is_bot, ~person.c.deleted)
        with reading(self._engine) as connection:
            return list(connection.execute(query.order_by(follow.c.user_id)).scalars())

    def follower_count(self, entity_ids: Collection[str]) -> int:
        """Return how many people follow one of these assets, of which there are at most ``MOST_ASSETS``."""
        query = select(func.count(distinct(follow.c.user_id))).where(follow.c.entity_id.in_(entity_ids))
        with reading(self._engine) as connection:
            return int(connection.execute(query).scalar_one())


class _Steps:
    """A walk under way: what it found, and where it goes on."""

    def __init__(self, root: Document, max_assets: int) -> None:
        self.found: dict[str, Reached] = {}
        self.edges: list[Edge] = []
        self.front: set[str] = {root["id"]}
        self.is_cut = False
        self._root_id, self._max_assets = root["id"], max_assets

    def take(self, level: int, near_edges: list[Edge], limit: int) -> None:
        """Go one level on, along these edges; as many as ``limit`` are not all there are."""
        self.front = set()
        self.is_cut = len(near_edges) >= limit
        for edge in near_edges:
            if edge.to.get("deleted"):
                continue
            self.edges.append(edge)
            pipeline = edge.details.get("pipeline")
            self._reach(Reached(edge.to, level, edge.from_, pipeline))
            if pipeline and not pipeline.get("deleted"):
                self._reach(Reached(pipeline, level, edge.from_, None))

    def _reach(self, reached: Reached) -> None:
        asset_id = reached.asset["id"]
        if asset_id in self.found or asset_id == self._root_id:
            return
        if len(self.found) == self._max_assets:
            self.is_cut = True
            return
        self.found[asset_id] = reached
        self.front.add(asset_id)


def _outgoing_edges(connection: Connection, ids: list[str], limit: int) -> Iterator[Edge]:
    for chunk in chunks_of(ids):
        yield from edges.read(connection, edges.EDGES.where(edges.leads_from(chunk)).limit(limit))


def _first(connection: Connection, root: Document) -> Iterator[Edge]:
    """Yield what only the beginning of a walk asks: what a pipeline moves, what something that is gone fed."""
    carried_query = edges.EDGES.where(lineage_carrier.c.carrier_id == root["id"])
    for edge in edges.read(connection, carried_query):
        yield Edge(root, edge.to, edge.details)
    event = change_event.c
    deletion = (event.entity_id == root["id"]) & (event.event_type == EventType.ENTITY_DELETED.value)
    deletion_offset = select(func.max(event.log_offset)).where(deletion).scalar_subquery()
    fed_query = (
        select(*REFERENCE)
        .join(past_relation, past_relation.c.other_id == entity.c.id)
        .where(past_relation.c.entity_id == root["id"], past_relation.c.relation == DOWNSTREAM)
        .where(past_relation.c.until_offset == deletion_offset)
        .order_by(entity.c.fqn)
    )
    for row in connection.execute(fed_query):
        yield Edge(root, reference_of(*row), {})
