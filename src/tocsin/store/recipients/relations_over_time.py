"""Owners, domains, products, labels, members and lineage with the offsets between which they held, by key.

Relations that ended before ``from_offset`` are left out: they ended before the first event in question.
Next: ``store/recipients/directory.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, product, zip_longest
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, Table, case, func, literal, select

from tocsin.flow.resolve.directory import NO_END, Principal
from tocsin.model.change import EventType
from tocsin.model.entity_type import OWNING
from tocsin.model.inheritance import Entry
from tocsin.model.labels import SOURCES
from tocsin.model.notification import ReasonKind
from tocsin.store.catalogue.relations.ancestry import Ancestor, ancestor_entities
from tocsin.store.catalogue.relations.past import (
    ABOVE,
    DOMAIN,
    DOWNSTREAM,
    LABEL,
    MEMBER,
    OWNER,
    PRODUCT,
    labels_carried,
    namesakes_of_labels,
)
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.database.keys import rows_by_key, rows_of_all
from tocsin.store.database.tables import (
    change_event,
    entity,
    entity_tag,
    lineage_edge,
    membership,
    ownership,
    past_relation,
)
from tocsin.store.recipients.followed_types import AROUND, find_followed_types

Span = tuple[int, int]
"""The first and the last offset for which something holds."""

_PAST = past_relation.c
_Current = tuple[Select[Any], ColumnElement[str]]
Target = tuple[str, str]
"""Id and type of the other end of a relation."""


class _Held(NamedTuple):
    target: Target
    span: Span
    fqn: str | None = None


_Relations = dict[str, list[_Held]]
"""The relations of each entity, by its id."""


def _current(table: Table, key: str, target: str, other_type: str) -> _Current:
    columns = (table.c[key], table.c[target], table.c[other_type], table.c.since_offset, literal(NO_END), literal(None))
    return select(*columns), table.c[key]


def _current_references(types: Mapping[str, str]) -> _Current:
    """Return the relations to what entities name in these lists of references, each with the type that it names."""
    refers = entity_reference.c
    other_type = case({field: literal(entity_type) for field, entity_type in types.items()}, value=refers.field)
    columns = (refers.entity_id, refers.target_id, other_type, refers.since_offset, literal(NO_END), literal(None))
    return select(*columns).where(refers.field.in_(types)), refers.entity_id


_OWNERS = (_current(ownership, "entity_id", "owner_id", "owner_type"),)
_LABELS = (labels_carried().add_columns(literal(NO_END), entity.c.fqn), entity_tag.c.entity_id)
_AROUND = (_current_references({"domains": "domain", "dataProducts": "dataProduct"}),)
_MEMBERS = (_current(membership, "team_id", "member_id", "member_type"),)
EDGES = (_current(lineage_edge, "from_id", "to_id", "to_type"),)
"""The lineage edges of entities to what lies downstream."""

_ENDED = select(
    _PAST.entity_id, _PAST.other_id, _PAST.other_type, _PAST.since_offset, _PAST.until_offset, _PAST.other_fqn
)


def owners(
    connection: Connection, node_ids: Collection[str], from_offset: int = 0, memory: KnownRelations | None = None
) -> Iterator[Principal]:
    """Yield the owners of each entity, its own or those of the nearest ancestor that had some, for as long as each was.

    One row per (entity, owner, span of offsets). ``memory`` is what has been looked up for events at this offset or
    later.
    """

    def find_owners(ids: Collection[str]) -> _Relations:
        if memory is not None:
            return _of_types(memory.relations_of(connection, ids), OWNING)
        return relations_held(connection, _OWNERS, (OWNER,), ids, from_offset)

    def find_ancestors(ids: Collection[str]) -> Mapping[str, AncestorChain]:
        return _chains_of(connection, ids, from_offset) if memory is None else memory.chains_of(connection, ids)

    owner_spans = _own_or_inherited(connection, find_owners, node_ids, from_offset, find_ancestors)
    for node, (owner_id, owner_type), (since, until) in owner_spans:
        yield Principal(ReasonKind.OWNER, owner_id, owner_type, node, since_offset=since, until_offset=until)


class Governance:
    """Domains, data products, owners and labels of some entities and their ancestors."""

    def __init__(self, connection: Connection, node_ids: Collection[str], memory: KnownRelations) -> None:
        self._connection, self._node_ids, self._memory = connection, node_ids, memory
        chains = memory.chains_of(connection, node_ids)
        ids = {*node_ids, *(ancestor.id for chain in chains.values() for ancestor in chain.past_and_present())}
        self._relations = memory.relations_of(connection, ids)

    def targets(self, types: Collection[str] | None = None) -> dict[str, str]:
        """Return the type of each of these that one of them names, by its id; perhaps only those of some types."""
        targets = dict(relation.target for relations in self._relations.values() for relation in relations)
        return {one: kind for one, kind in targets.items() if types is None or kind in types}

    def domain_and_product_spans(self) -> Iterator[tuple[str, Target, Span]]:
        """Yield the domains and data products of each of the entities: (entity, id and type, span of offsets).

        Domains are its own or those it inherits, as owners are.
        """
        yield from self._inherited_targets({"domain"})
        yield from self._own_targets({"dataProduct"})

    def owner_spans(self) -> Iterator[tuple[str, Target, Span]]:
        """Yield the owners of each of the entities, its own or inherited: (entity, id and type, span of offsets)."""
        yield from self._inherited_targets(OWNING)

    def label_spans(self) -> Iterator[tuple[str, Target, Span]]:
        """Yield the tags and terms that each of the entities or a member carries: (entity, id and type, offsets)."""
        yield from self._own_targets(SOURCES)

    def _own_targets(self, types: Collection[str]) -> Iterator[tuple[str, Target, Span]]:
        for node in self._node_ids:
            relations = (relation for relation in self._relations[node] if relation.target[1] in types)
            yield from ((node, relation.target, relation.span) for relation in relations)

    def _inherited_targets(self, types: Collection[str]) -> Iterator[tuple[str, Target, Span]]:
        def find_relations(ids: Collection[str]) -> _Relations:
            return _of_types({one: self._relations[one] for one in ids}, types)

        find_ancestors = partial(self._memory.chains_of, self._connection)
        offset = self._memory.from_offset
        yield from _own_or_inherited(self._connection, find_relations, self._node_ids, offset, find_ancestors)


def _of_types(relations: Mapping[str, Sequence[_Held]], types: Collection[str]) -> _Relations:
    return {one: [held for held in many if held.target[1] in types] for one, many in relations.items()}


def _own_or_inherited(
    connection: Connection,
    find_relations: Callable[[Collection[str]], _Relations],
    node_ids: Collection[str],
    from_offset: int,
    find_ancestors: Callable[[Collection[str]], Mapping[str, AncestorChain]],
) -> Iterator[tuple[str, Target, Span]]:
    """Yield what each entity has in a relation, its own or what the nearest ancestor had that had some, and when."""
    own_relations = find_relations(node_ids)
    inheriting_nodes = {node for node in node_ids if not _lasts(own_relations.get(node, ()), from_offset)}
    chains = find_ancestors(inheriting_nodes)
    ancestors = {one.id for node in inheriting_nodes for one in chains[node].past_and_present()}
    held_above = {one: own_relations.get(one, []) for one in ancestors.intersection(node_ids)}
    held_above |= find_relations(ancestors.difference(node_ids))
    relations_above = _live(connection, held_above) if held_above else {}
    for node in node_ids:
        if node in inheriting_nodes:
            effective = _effective(chains[node], own_relations, relations_above, from_offset)
        else:
            targets = sorted({relation.target for relation in own_relations[node]})
            effective = ((target, (from_offset, NO_END)) for target in targets)
        yield from ((node, target, span) for target, span in effective)


def members_over_time(
    connection: Connection,
    team_ids: Collection[str],
    from_offset: int = 0,
    is_wanted: Callable[[str], bool] = lambda _person: True,
    *,
    only_live: bool = False,
) -> Iterator[tuple[str, str, Span]]:
    """Yield the people of each team and of the teams below it: (team, person, span of offsets); cycles of teams end.

    With ``only_live``, a soft-deleted team has no direct members, and one of ``team_ids`` no members at all.
    """
    teams_below: dict[str, list[_Held]] = {}
    frontier = set(team_ids)
    while frontier:
        memberships = relations_held(connection, _MEMBERS, (MEMBER,), frontier, from_offset)
        teams_below |= {team: memberships.get(team, []) for team in frontier}
        frontier = {
            relation.target[0] for many in memberships.values() for relation in many if relation.target[1] == "team"
        } - teams_below.keys()
    deletions = deleted_spans(connection, teams_below) if only_live else {}
    for team in team_ids:
        people: dict[str, list[Span]] = defaultdict(list)
        for user_id, span in _people(team, teams_below, deletions):
            if is_wanted(user_id):
                people[user_id].append(span)
        for user_id in sorted(people):
            yield from ((team, user_id, span) for span in join_spans(people[user_id]))


def reach(
    connection: Connection, starts: Mapping[str, str], depth: int, from_offset: int = 0, *, only_live: bool = False
) -> Iterator[tuple[str, str, int, Span, str | None]]:
    """Yield what each root reaches downstream: (root, node, hops, span of offsets, name of a node that is gone).

    ``starts`` are the entities at which the ways of each root begin. Breadth-first, one lookup per level for all roots
    together, so that at each offset a node counts at its shortest distance and cycles end. With ``only_live``, nodes
    are not reached while they are soft-deleted, and nothing through them.
    """
    spans_by_pair: dict[tuple[str, str], list[Span]] = {(root, start): [(0, NO_END)] for root, start in starts.items()}
    frontier: dict[str, list[tuple[str, Span]]] = defaultdict(list)  # node -> (root, span in which it was reached now)
    for root, start in starts.items():
        frontier[start].append((root, (0, NO_END)))
        yield root, start, 0, (0, NO_END), None
    for level in range(1, depth + 1):
        edges = relations_held(connection, EDGES, (DOWNSTREAM,), frontier, from_offset)
        edges = _live(connection, edges) if only_live else edges
        next_nodes: dict[str, list[tuple[str, Span]]] = defaultdict(list)
        for root, node, span, fqn in _first_arrivals(frontier, edges, spans_by_pair):
            next_nodes[node].append((root, span))
            yield root, node, level, span, fqn
        if not next_nodes:
            return
        frontier = next_nodes


def _first_arrivals(
    frontier: Mapping[str, Sequence[tuple[str, Span]]],
    edges: Mapping[str, Sequence[_Held]],
    spans_by_pair: dict[tuple[str, str], list[Span]],
) -> Iterator[tuple[str, str, Span, str | None]]:
    """Yield where these edges lead for the first time at some offsets, and note that in ``spans_by_pair``."""
    for node, edges_of_node in edges.items():
        for edge, (root, reached_span) in product(edges_of_node, frontier[node]):
            spans = spans_by_pair.setdefault((root, edge.target[0]), [])
            new = spans_without(overlap_of(reached_span, edge.span), spans)
            spans += new
            yield from ((root, edge.target[0], span, edge.fqn) for span in new)


class AncestorChain(NamedTuple):
    """The ancestors of an entity, the nearest first, and those that it or one of them had up to an offset.

    ``entity_type`` is None for an entity that is gone.
    """

    entity_id: str
    entity_type: str | None
    now: Sequence[Ancestor]
    before: Mapping[str, Sequence[tuple[int, Sequence[Ancestor]]]]

    def past_and_present(self) -> Iterator[Ancestor]:
        """Yield every entity that is or was an ancestor."""
        yield from self.now
        for node_id in self._ids_now():
            for _, ancestors in self.before.get(node_id, ()):
                yield from ancestors

    def at(self, offset: int) -> Iterator[Ancestor]:
        """Yield the ancestors at an offset, the nearest first."""
        for node_id, ancestor in zip(self._ids_now(), (None, *self.now), strict=True):
            if ancestor is not None:
                yield ancestor
            past_ancestors = next((some for until, some in self.before.get(node_id, ()) if offset <= until), None)
            if past_ancestors is not None:
                yield from past_ancestors
                return

    def turns(self) -> Iterator[int]:
        """Yield the offsets from which on it differs."""
        for node_id in self._ids_now():
            yield from (until + 1 for until, _ in self.before.get(node_id, ()))

    def _ids_now(self) -> tuple[str, ...]:
        return (self.entity_id, *(one.id for one in self.now))


def _lasts(relations: Sequence[_Held], from_offset: int) -> bool:
    """Return whether there are relations, all of which hold at this offset and since."""
    return bool(relations) and all(since <= from_offset and until == NO_END for _, (since, until), _ in relations)


def _effective(
    chain: AncestorChain,
    own_by_entity: Mapping[str, Sequence[_Held]],
    inherited: Mapping[str, Sequence[_Held]],
    from_offset: int,
) -> Iterator[tuple[Target, Span]]:
    """Yield what an entity had: its own or, while it had none, that of the nearest ancestor with some."""
    own_relations = own_by_entity.get(chain.entity_id, ())
    relations = [*own_relations, *(row for one in chain.past_and_present() for row in inherited.get(one.id, ()))]
    turns = {
        from_offset,
        NO_END + 1,
        *chain.turns(),
        *(edge for row in relations for edge in (row.span[0], row.span[1] + 1)),
    }
    spans: dict[Target, list[Span]] = defaultdict(list)
    for since, end in pairwise(sorted(turn for turn in turns if turn >= from_offset)):
        levels = (own_relations, *(inherited.get(one.id, ()) for one in chain.at(since)))
        holders_by_level = ([row.target for row in level if row.span[0] <= since <= row.span[1]] for level in levels)
        for owner in next(filter(None, holders_by_level), []):
            spans[owner].append((since, end - 1))
    for owner, owner_spans in sorted(spans.items()):
        yield from ((owner, span) for span in join_spans(owner_spans))


class KnownRelations:
    """Ancestors of the entities of some events, their domains, data products, owners and labels, each looked up once.

    They are those at ``from_offset`` or later, which lies one before the events: what ended there was ended by the
    first of them.
    """

    def __init__(self, first_offset: int) -> None:
        self.from_offset = max(0, first_offset - 1)
        self._chains: dict[str, AncestorChain] = {}
        self._relations: dict[str, Sequence[_Held]] = {}
        self._followed_types: frozenset[str] | None = None

    def chains_of(self, connection: Connection, node_ids: Collection[str]) -> Mapping[str, AncestorChain]:
        """Return the ancestors of each entity."""
        unknown_ids = [one for one in node_ids if one not in self._chains]
        if unknown_ids:
            self._chains |= _chains_of(connection, unknown_ids, self.from_offset)
        return {one: self._chains[one] for one in node_ids}

    def relations_of(self, connection: Connection, node_ids: Collection[str]) -> Mapping[str, Sequence[_Held]]:
        """Return the owners that each entity has itself; its domains, data products and labels if any is followed."""
        unknown_ids = [one for one in node_ids if one not in self._relations]
        if unknown_ids:
            followed_types = self.followed_types(connection)
            current, names = [*_OWNERS], [OWNER]
            if followed_types.intersection(AROUND):
                current, names = [*_AROUND, *current], [DOMAIN, PRODUCT, *names]
            if followed_types.intersection(SOURCES):
                current, names = [*current, _LABELS], [*names, LABEL]
            relations = relations_held(connection, current, names, unknown_ids, self.from_offset)
            relations = _without_namesakes(connection, relations)
            self._relations |= {one: relations.get(one, ()) for one in unknown_ids}
        return {one: self._relations[one] for one in node_ids}

    def followed_types(self, connection: Connection) -> frozenset[str]:
        """Return the types of what people follow (``followed_types.py``)."""
        if self._followed_types is None:
            self._followed_types = find_followed_types(connection, self.from_offset)
        return self._followed_types


def _chains_of(connection: Connection, node_ids: Collection[str], from_offset: int) -> dict[str, AncestorChain]:
    """Return the ancestors of each entity, now and at this offset or later."""
    places = rows_by_key(connection, select(entity.c.id, entity.c.entity_type, entity.c.fqn), entity.c.id, node_ids)
    entries: dict[str, Entry] = {row.id: (row.entity_type, row.fqn) for row in places}
    above_now = ancestor_entities(connection, entries)
    now = {node: above_now.get(node, []) for node in node_ids}
    before = _past_ancestors(connection, {*node_ids, *(one.id for many in now.values() for one in many)}, from_offset)
    types = {node: entity_type for node, (entity_type, _) in entries.items()}
    return {node: AncestorChain(node, types.get(node), above, before) for node, above in now.items()}


def _past_ancestors(
    connection: Connection, ids: Collection[str], from_offset: int
) -> dict[str, list[tuple[int, list[Ancestor]]]]:
    """Return, by entity, its ancestors up to each offset at which they changed, the earliest first."""
    ancestors: dict[str, dict[int, list[Ancestor]]] = defaultdict(lambda: defaultdict(list))
    columns = (_PAST.entity_id, _PAST.until_offset, _PAST.other_id, _PAST.other_type, _PAST.other_fqn)
    query = select(*columns).where(_PAST.relation.like(f"{ABOVE}%"), _PAST.until_offset >= from_offset)
    by_distance = query.order_by(func.length(_PAST.relation), _PAST.relation)  # above2 before above10
    for row in rows_by_key(connection, by_distance, _PAST.entity_id, ids):
        ancestors[row.entity_id][row.until_offset].append(Ancestor(row.other_id, row.other_type, row.other_fqn))
    return {one: sorted(many.items()) for one, many in ancestors.items()}


def _live(connection: Connection, relations: Mapping[str, Sequence[_Held]]) -> dict[str, list[_Held]]:
    """Return the relations without those to what was soft-deleted, for as long as it was."""
    targets = {row.target[0] for many in relations.values() for row in many}
    spans_by_target = deleted_spans(connection, targets)
    return {
        entity_id: [
            row._replace(span=span)
            for row in many
            for span in spans_without(row.span, spans_by_target.get(row.target[0], ()))
        ]
        for entity_id, many in relations.items()
    }


def deleted_spans(connection: Connection, ids: Collection[str]) -> dict[str, list[Span]]:
    """Return when each of these was soft-deleted: after the event that says so, up to the one that restores it."""
    column, is_deletion = change_event.c, change_event.c.event_type == EventType.ENTITY_SOFT_DELETED.value
    is_restoration = column.event_type == EventType.ENTITY_RESTORED.value
    turns: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    query = select(column.entity_id, column.log_offset, is_deletion).where(is_deletion | is_restoration)
    for entity_id, offset, is_gone in rows_by_key(connection, query.order_by(column.log_offset), column.entity_id, ids):
        turns[entity_id].append((offset, bool(is_gone)))
    return {
        entity_id: [
            (offset + 1, following[0] if following else NO_END)
            for (offset, is_gone), following in zip_longest(many, many[1:])
            if is_gone
        ]
        for entity_id, many in turns.items()
    }


def relations_held(
    connection: Connection, current: Sequence[_Current], names: Sequence[str], ids: Collection[str], from_offset: int
) -> _Relations:
    """Return the relations of each of these entities that hold now, and those that held at ``from_offset`` or later."""
    ended_relations = _ENDED.where(_PAST.relation.in_(names), _PAST.until_offset >= from_offset)
    relations: dict[str, list[_Held]] = defaultdict(list)
    for kinds in (current, ((ended_relations, _PAST.entity_id),)):
        held_rows: Iterable[Any] = rows_of_all(connection, kinds, ids)  # Any: rows of SQLAlchemy's
        for entity_id, target_id, other_type, since, until, fqn in held_rows:
            relations[entity_id].append(_Held((target_id, other_type), (since, until), fqn))
    return {one: sorted(many, key=lambda row: row.fqn is None) for one, many in relations.items()}


def _without_namesakes(connection: Connection, relations: _Relations) -> _Relations:
    """Return the relations without the labels of which an entity carries the namesake alone."""
    labels = {
        (entity_id, row): (entity_id, str(row.fqn), row.target[1])
        for entity_id, many in relations.items()
        for row in many
        if row.target[1] in SOURCES and row.span[1] == NO_END
    }
    namesakes = namesakes_of_labels(connection, labels.values())
    if not namesakes:
        return relations
    return {
        entity_id: [row for row in many if labels.get((entity_id, row)) not in namesakes]
        for entity_id, many in relations.items()
    }


def _people(
    team: str, below: Mapping[str, Sequence[_Held]], deletions: Mapping[str, Sequence[Span]]
) -> Iterator[tuple[str, Span]]:
    """Yield the people of a team and of all below it; each team is entered once for each offset.

    While a team is deleted it has no direct members, and the team that all begins with nobody at all.
    """
    teams_to_visit = [(team, span) for span in spans_without((0, NO_END), deletions.get(team, ()))]
    entry_spans: dict[str, list[Span]] = defaultdict(list)
    while teams_to_visit:
        at, reached_span = teams_to_visit.pop()
        new = spans_without(reached_span, entry_spans[at])
        entry_spans[at] += new
        for relation, span in product(below.get(at, ()), new):
            overlap = overlap_of(span, relation.span)
            if overlap[0] <= overlap[1] and relation.target[1] == "team":
                teams_to_visit.append((relation.target[0], overlap))
            else:
                yield from ((relation.target[0], one) for one in spans_without(overlap, deletions.get(at, ())))


def overlap_of(first: Span, second: Span) -> Span:
    """Return the span that lies in both, which ends before it begins if there is none."""
    return max(first[0], second[0]), min(first[1], second[1])


def spans_without(span: Span, excluded: Sequence[Span]) -> list[Span]:
    """Return the parts of a span that lie in none of these."""
    parts = [span] if span[0] <= span[1] else []
    for since, until in excluded:
        cut = (part for one in parts for part in ((one[0], min(one[1], since - 1)), (max(one[0], until + 1), one[1])))
        parts = [part for part in cut if part[0] <= part[1]]
    return parts


def join_spans(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, those that overlap or follow each other made one."""
    joined: list[Span] = []
    for since, until in sorted(spans):
        if joined and since <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], until))
        else:
            joined.append((since, until))
    return joined
