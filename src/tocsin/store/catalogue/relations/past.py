"""Relations of entities over time: owners, followers, domains, lineage and more, from one event of the log to another.

A current relation knows since which event it holds; one that ends is kept here with both offsets. So the recipients of
an event are those at its place in the log, however late the pipeline, a backtest or an explanation looks.
Next: ``store/recipients/directory.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    tuple_,
    update,
)

from tocsin.chunks import chunks_of
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.entity import version_to_tenths
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import Entry
from tocsin.model.labels import SOURCES
from tocsin.model.notification import ReasonKind
from tocsin.model.relations import SHOWN_FIELDS
from tocsin.model.stored import Stored
from tocsin.store.catalogue.relations.ancestry import ancestor_entities
from tocsin.store.catalogue.relations.projections import Rows, members, owners
from tocsin.store.database.documents import STORED, entity_of, parent_of
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.statements import Prepared
from tocsin.store.database.tables import (
    entity,
    entity_tag,
    follow,
    lineage_edge,
    membership,
    ownership,
    past_relation,
    tombstone,
)

DOWNSTREAM = "downstream"
MEMBER = "member"
CONSUMER = "consumer"
"""From a change request to an asset or person that it asked, until that was deleted for good."""
ABOVE = "above"
"""Prefix of the relation to an ancestor; its number is the distance, 1 for the parent."""

DOMAIN, PRODUCT = "domain", "product"
"""To a domain or data product that an asset names itself."""

SHOWN = "shown"
"""From a chart or data model to a dashboard that names it."""

LABEL = "label"
"""To a tag or glossary term that an asset or a member of it carries."""

OWNER, FOLLOWER = ReasonKind.OWNER.value, ReasonKind.FOLLOWER.value
Relation = Mapping[str, object]
"""Columns of ``past_relation`` without ``until_offset``."""

_Key = tuple[str, int | None]
"""The entity whose event begins or ends a relation, and its version in tenths where the relation is in its document."""

_Place = tuple[str, tuple[str, str]]
"""A relation, and the ids at its ends."""

_NAMES = ("entity_id", "relation", "other_id", "other_type", "since_offset")


class _Rows(NamedTuple):
    """How the rows of a table map to relations: from the column ``key`` to the column ``other_key``.

    ``fields`` are the lists of references whose rows they are, where the table has those of several.
    """

    relation: str
    table: Table
    key: str
    other_key: str
    other_type: ColumnElement[str]
    fields: tuple[str, ...] = ()

    def where(self, *conditions: ColumnElement[bool]) -> tuple[ColumnElement[bool], ...]:
        """Return the conditions that rows of this relation meet besides these."""
        is_of_field = (self.table.c.field == field for field in self.fields)
        return (*conditions, or_(*is_of_field)) if self.fields else conditions


_OWNERS = _Rows(OWNER, ownership, "entity_id", "owner_id", ownership.c.owner_type)
_FOLLOWERS = _Rows(FOLLOWER, follow, "entity_id", "user_id", literal("user"))
_MEMBERS = _Rows(MEMBER, membership, "team_id", "member_id", membership.c.member_type)
_EDGES = _Rows(DOWNSTREAM, lineage_edge, "from_id", "to_id", lineage_edge.c.to_type)
_DOMAINS = _Rows(DOMAIN, entity_reference, "entity_id", "target_id", literal("domain"), ("domains",))
_PRODUCTS = _Rows(PRODUCT, entity_reference, "entity_id", "target_id", literal("dataProduct"), ("dataProducts",))
_SHOWN = _Rows(SHOWN, entity_reference, "target_id", "entity_id", literal("dashboard"), SHOWN_FIELDS)
_LABELS = _Rows(LABEL, entity_tag, "entity_id", "tag_fqn", literal(""))
"""These name what they lead to; ``labels_carried`` finds it."""
_SOURCES = {one.relation: one for one in (_OWNERS, _FOLLOWERS, _MEMBERS, _EDGES, _DOMAINS, _PRODUCTS, _SHOWN, _LABELS)}
_BY_TABLE = {one.table: one.relation for one in (_OWNERS, _FOLLOWERS, _MEMBERS, _EDGES)}
_OF_ASSETS = (_DOMAINS, _PRODUCTS, _SHOWN)
"""Relations that are kept of what people can follow alone."""
_OF_OTHERS = (
    (("user", "team"), _OWNERS, "owner_id"),
    (("user", "team"), _FOLLOWERS, "user_id"),
    (("user", "team"), _MEMBERS, "team_id"),
    (("user", "team"), _MEMBERS, "member_id"),
    ((DOMAIN, "dataProduct"), _DOMAINS, "target_id"),
    ((DOMAIN, "dataProduct"), _PRODUCTS, "target_id"),
    (("dashboard",), _SHOWN, "entity_id"),
)
"""Relations of others that only entities of these types have, with the column that names these."""

_INNATE = frozenset((DOMAIN, PRODUCT, LABEL))
"""Relations that what is created with them has always had."""

_COUNTED = (OWNER, FOLLOWER, DOWNSTREAM)
"""The relations of which a tombstone says how many there were."""


def _begin_statement(source: _Rows) -> Prepared:
    key, other_key = source.table.c[source.key], source.table.c[source.other_key]
    is_row = source.where(key == bindparam("from"), other_key == bindparam("to"))
    return Prepared(update(source.table).where(*is_row).values(since_offset=bindparam("at")))


_BEGIN = {relation: _begin_statement(source) for relation, source in _SOURCES.items()}


class RelationChanges:
    """The relations that a transaction begins and ends, until its events have offsets."""

    def __init__(self) -> None:
        self._ended: dict[_Key, list[Relation]] = defaultdict(list)
        self._begun: dict[_Key, list[_Place]] = defaultdict(list)
        self._since: dict[_Place, int] = {}

    def begin(self, event_of: str, table: Table, key: tuple[str, str]) -> None:
        """Note that a row of ``table`` was added by the coming event of an entity."""
        self._begun[event_of, None].append((_BY_TABLE[table], key))

    def end(self, event_of: str, relations: Iterable[Relation]) -> None:
        """Note that the coming event of an entity ends these relations."""
        self._ended[event_of, None] += relations

    def note(self, connection: Connection, changes: Sequence[tuple[Stored | None, Stored]]) -> None:
        """Note what these changes, before they are written, begin and end: owners, members, domains and ancestors."""
        removed_rows: dict[str, list[tuple[_Key, tuple[str, str, str]]]] = defaultdict(list)
        for old, new in changes:
            if old is not None and old.version == new.version:
                continue
            key: _Key = (new.id, version_to_tenths(new.version))
            for relation, rows_of in _BY_DOCUMENT:
                before, after = rows_of(old) if old else frozenset(), rows_of(new)
                if before == after:
                    continue
                removed_rows[relation] += [(key, row) for row in sorted(before - after)]
                if old is not None or relation not in _INNATE:
                    self._begun[key] += [(relation, row[:2]) for row in sorted(after - before)]
            if old is not None and parent_of(old) != parent_of(new):
                entries = {old.id: (old.entity_type, old.fqn)}
                self._ended[key] += [dict(row) for _, row in _ancestors(connection, entries)]
        for relation, ended_rows in removed_rows.items():
            since = _start_offsets(connection, _SOURCES[relation], [row[:2] for _, row in ended_rows])
            label_ids = _ids_of_labels(connection, {row[1:] for _, row in ended_rows}) if relation == LABEL else {}
            for key, (entity_id, target, other_type) in ended_rows:
                fqn, other_id = (target, label_ids.get((target, other_type))) if relation == LABEL else (None, target)
                row = (entity_id, relation, other_id, other_type, since.get((entity_id, target), 0))
                if other_id is not None:
                    self._ended[key].append(dict(zip(_NAMES, row, strict=True)) | {"other_fqn": fqn})

    def write(self, connection: Connection, events: Sequence[tuple[int, ChangeEvent]]) -> None:
        """Store what the events of a transaction, each with its offset, have begun and ended.

        What is hard-deleted together is gone at one moment: each of these events sees the relations before it.
        """
        together = {event.entity_id for _, event in events if event.event_type is EventType.ENTITY_DELETED}
        kept_relations, stones = list[Relation](), list[dict[str, object]]()
        for at, event in events:
            ended_relations = self._begin_and_end(connection, event, at)
            if event.entity_id not in together:
                kept_relations += self._kept_rows(ended_relations, at - 1)
                continue
            own_relations = [one for one in ended_relations if one["entity_id"] == event.entity_id]
            # A relation of what is deleted as well is among its own, those of others to it are not.
            relations_of_others = [one for one in ended_relations if one["entity_id"] not in together]
            own_rows = self._kept_rows(own_relations, events[-1][0])
            kept_relations += [*own_rows, *self._kept_rows(relations_of_others, events[-1][0])]
            relation_count = sum(one["relation"] in _COUNTED for one in own_rows)
            stones.append({"log_offset": at, "entity_id": event.entity_id, "relation_count": relation_count})
        if kept_relations:
            connection.execute(insert(past_relation), kept_relations)
        if stones:
            connection.execute(insert(tombstone), stones)

    def clear(self) -> None:
        """Forget what was noted: it was taken back."""
        for noted in (self._ended, self._begun, self._since):
            noted.clear()

    def _begin_and_end(self, connection: Connection, event: ChangeEvent, at: int) -> list[Relation]:
        """Note in the rows that the event has begun since when they hold; return the relations that it has ended."""
        version = event.current_version
        keys: list[_Key] = [(event.entity_id, None)]
        keys += [(event.entity_id, version_to_tenths(version))] if version is not None else []
        for relation, row_key in [one for key in keys for one in self._begun.pop(key, ())]:
            _BEGIN[relation].run(connection, {"at": at, "from": row_key[0], "to": row_key[1]})
            self._since[relation, row_key] = at
        return [one for key in keys for one in self._ended.pop(key, ())]

    def _kept_rows(self, ended: Iterable[Relation], until: int) -> list[Relation]:
        """Return relations that have ended as they are kept, each once: those that held for at least one event."""
        relations_by_place: dict[tuple[object, ...], Relation] = {}
        for relation in ended:
            since = self._since.pop(_place(relation), relation["since_offset"])
            if isinstance(since, int) and since <= until:
                place = (relation["relation"], relation["entity_id"], relation["other_id"])
                relations_by_place[place] = {
                    "other_fqn": None,
                    **relation,
                    "since_offset": since,
                    "until_offset": until,
                }
        return list(relations_by_place.values())


def relations_of(connection: Connection, entity_ids: Collection[str]) -> dict[str, list[Relation]]:
    """Return the owners, followers, domains, products, downstream assets and ancestors of each of these entities."""
    relations: dict[str, list[Relation]] = {one: [] for one in entity_ids}
    for chunk in chunks_of(sorted(entity_ids)):
        places = select(entity.c.id, entity.c.entity_type, entity.c.fqn).where(entity.c.id.in_(chunk))
        entries = {row.id: (row.entity_type, row.fqn) for row in connection.execute(places)}
        asset_ids = [one for one, (entity_type, _) in entries.items() if _is_asset(entity_type)]
        of_assets = (*(_relations(one, one.key, asset_ids) for one in _OF_ASSETS), _label_relations(asset_ids))
        for query in (*_outgoing_relations(chunk), *of_assets):
            for row in connection.execute(query):
                relations[row.entity_id].append(dict(row._mapping))
        for entity_id, relation in _ancestors(connection, entries):
            relations[entity_id].append(relation)
    labels = [_label_row(one) for many in relations.values() for one in many if one["relation"] == LABEL]
    namesakes = namesakes_of_labels(connection, labels)
    for asset_id in {asset_id for asset_id, *_ in namesakes}:
        relations[asset_id] = [one for one in relations[asset_id] if _label_row(one) not in namesakes]
    return relations


def relations_to(connection: Connection, erased_entities: Collection[Stored]) -> dict[str, list[Relation]]:
    """Return the relations of others to each of these entities, which are about to be erased."""
    names = {one.id: one.fqn for one in erased_entities}
    relations: dict[str, list[Relation]] = {one: [] for one in names}
    for types, source, by in _OF_OTHERS:
        end = "entity_id" if by == source.key else "other_id"
        for chunk in chunks_of(sorted(one.id for one in erased_entities if one.entity_type in types)):
            for relation in connection.execute(_relations(source, by, chunk)).mappings():
                relations[relation[end]].append(dict(relation))
    for chunk in chunks_of(sorted(names)):
        for row in connection.execute(_relations(_EDGES, "to_id", chunk)):
            relations[row.other_id].append(dict(row._mapping) | {"other_fqn": names[row.other_id]})
    return relations


def forget(connection: Connection, through: int) -> None:
    """Delete the tombstones up to an offset: the audit does not need them any more."""
    connection.execute(delete(tombstone).where(tombstone.c.log_offset <= through))


def lost_relation_counts(connection: Connection, offsets: Collection[int]) -> dict[int, int]:
    """Return the number of lost relations of each deletion at these offsets that has lost any."""
    if not offsets:
        return {}
    stone, past = tombstone.c, past_relation.c
    of_it = (past.until_offset >= stone.log_offset) & (past.entity_id == stone.entity_id)
    of_it &= past.relation.in_(_COUNTED)
    counted = (
        select(stone.log_offset, stone.relation_count - func.count(past.other_id))
        .join(past_relation, of_it, isouter=True)
        .where(stone.log_offset.between(min(offsets), max(offsets)))
        .group_by(stone.log_offset, stone.relation_count)
    )
    return {int(offset): int(count) for offset, count in connection.execute(counted) if count > 0}


def _outgoing_relations(ids: Sequence[str]) -> Iterator[Select[Any]]:
    yield _relations(_OWNERS, "entity_id", ids)
    yield _relations(_FOLLOWERS, "entity_id", ids)
    edges = _relations(_EDGES, "from_id", ids)
    yield edges.add_columns(entity.c.fqn.label("other_fqn")).join(entity, entity.c.id == lineage_edge.c.to_id)


def _relations(source: _Rows, by: str, ids: Sequence[str]) -> Select[Any]:
    """Return the query for the relations whose column ``by`` is one of these."""
    columns = (
        source.table.c[source.key],
        literal(source.relation),
        source.table.c[source.other_key],
        source.other_type,
        source.table.c.since_offset,
    )
    labelled = (column.label(name) for column, name in zip(columns, _NAMES, strict=True))
    return select(*labelled).where(*source.where(source.table.c[by].in_(ids)))


def _ancestors(connection: Connection, entries: Mapping[str, Entry]) -> Iterator[tuple[str, Relation]]:
    """Yield the relation of each of these entities to each of its ancestors."""
    for entity_id, above in ancestor_entities(connection, entries).items():
        for distance, ancestor in enumerate(above, 1):
            relation = (entity_id, f"{ABOVE}{distance}", ancestor.id, ancestor.entity_type, 0)
            yield entity_id, {**dict(zip(_NAMES, relation, strict=True)), "other_fqn": ancestor.fqn}


def _start_offsets(
    connection: Connection, source: _Rows, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    first, second = source.table.c[source.key], source.table.c[source.other_key]
    offsets: dict[tuple[str, str], int] = {}
    for chunk in chunks_of(keys):
        is_row = source.where(tuple_(first, second).in_(chunk))
        query = select(first, second, source.table.c.since_offset).where(*is_row)
        offsets |= {(row[0], row[1]): int(row[2]) for row in connection.execute(query)}
    return offsets


def labels_carried() -> Select[Any]:
    """Return the query for what entities carry as labels: (entity, id and type of the tag or term, since)."""
    columns = (entity_tag.c.entity_id, entity.c.id, entity.c.entity_type, entity_tag.c.since_offset)
    is_named = (entity.c.fqn == entity_tag.c.tag_fqn) & entity.c.entity_type.in_(SOURCES)
    return select(*columns).join_from(entity_tag, entity, is_named)


def namesakes_of_labels(connection: Connection, carried: Collection[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Return those of these labels, (entity, FQN, type), that the entity does not carry, but their namesake.

    A tag and a term may have one FQN; the documents say which of them it is. They are read of such labels alone.
    """
    counts = Counter(row[:2] for row in carried)
    ambiguous_labels = {row for row in carried if counts[row[:2]] > 1}
    asset_ids = {asset_id for asset_id, *_ in ambiguous_labels}
    asset_rows = rows_by_key(connection, select(*STORED), entity.c.id, asset_ids)
    return ambiguous_labels.difference(*[_labels(entity_of(*row)) for row in asset_rows])


def _label_relations(asset_ids: Sequence[str]) -> Select[Any]:
    entity_id, other_id, other_type, since = labels_carried().selected_columns
    columns = (entity_id, literal(LABEL), other_id, other_type, since, entity.c.fqn)
    labelled = (column.label(name) for column, name in zip(columns, (*_NAMES, "other_fqn"), strict=True))
    return labels_carried().with_only_columns(*labelled).where(entity_id.in_(asset_ids))


def _label_row(relation: Relation) -> tuple[str, ...]:
    return str(relation["entity_id"]), str(relation["other_fqn"]), str(relation["other_type"])


def _ids_of_labels(connection: Connection, labels: Collection[tuple[str, ...]]) -> dict[tuple[str, str], str]:
    """Return the ids of tags and terms, given by name and type, by these."""
    query = select(entity.c.fqn, entity.c.entity_type, entity.c.id).where(entity.c.entity_type.in_(SOURCES))
    label_rows = rows_by_key(connection, query, entity.c.fqn, {fqn for fqn, *_ in labels})
    return {(row.fqn, row.entity_type): row.id for row in label_rows}


def _place(relation: Relation) -> _Place:
    """Return the row of a relation while it held."""
    key = "other_fqn" if relation["relation"] == LABEL else "other_id"
    return str(relation["relation"]), (str(relation["entity_id"]), str(relation[key]))


def _is_asset(entity_type: str) -> bool:
    kind = ENTITY_TYPES.get(entity_type)
    return kind is not None and kind.is_asset


_TYPES_OF_LABELS = {source: entity_type for entity_type, source in SOURCES.items()}


def _labels(asset: Stored) -> Rows:
    """Return the relations of an asset to the names of its labels, each with the type of what is so called."""
    if not _is_asset(asset.entity_type):
        return frozenset()
    return frozenset((asset.id, fqn, _TYPES_OF_LABELS.get(source, "tag")) for source, fqn in asset.labels)


def _references_in(field: str, other_type: str) -> Callable[[Stored], Rows]:
    """Return the function that gives the relations of an asset to what it names in a list of references."""

    def rows_of(asset: Stored) -> Rows:
        references = asset.document.get(field) if _is_asset(asset.entity_type) else None
        return frozenset((asset.id, one["id"], other_type) for one in references or () if "id" in one)

    return rows_of


def _parts_shown(dashboard: Stored) -> Rows:
    """Return the relations of charts and data models to a dashboard that names them."""
    if dashboard.entity_type != "dashboard":
        return frozenset()
    references = (one for field in SHOWN_FIELDS for one in dashboard.document.get(field) or ())
    return frozenset((one["id"], dashboard.id, "dashboard") for one in references if "id" in one)


_BY_DOCUMENT: tuple[tuple[str, Callable[[Stored], Rows]], ...] = (
    (OWNER, owners),
    (MEMBER, members),
    (DOMAIN, _references_in("domains", "domain")),
    (PRODUCT, _references_in("dataProducts", "dataProduct")),
    (SHOWN, _parts_shown),
    (LABEL, _labels),
)
"""The relations that documents say, and what gives those of one."""
