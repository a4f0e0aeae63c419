"""Write transaction of the catalogue: rows for an entity, its versions and everything related.

Implements ``flow/capture/ports.Transaction``. Next: ``store/eventlog/log.py``; for reads
``store/catalogue/entities/catalogue.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, delete, insert, select, update

from tocsin.chunks import chunks_of
from tocsin.conditions.entity_names import REMEMBERED
from tocsin.flow.capture.ports import Hold
from tocsin.model import fqn as names
from tocsin.model.change import EventType
from tocsin.model.entity import Document, version_to_tenths
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import INHERITABLE, Entry, Heritage, types_above
from tocsin.model.lineage import Edge
from tocsin.model.stored import CapturedEvent, Key, Relabelling, Stored
from tocsin.model.thread import THREAD
from tocsin.store.catalogue.access import rules_revision
from tocsin.store.catalogue.alerts.editors import SqlAlertEditors
from tocsin.store.catalogue.alerts.incidents import SqlAlertIncidents
from tocsin.store.catalogue.alerts.reminders import SqlIncidentReminders
from tocsin.store.catalogue.alerts.subscriptions import erase_alerts
from tocsin.store.catalogue.changes import requests as change_requests
from tocsin.store.catalogue.changes.requests import SqlChangeRequests
from tocsin.store.catalogue.entities import authors, changes
from tocsin.store.catalogue.entities.changes import EntityChange
from tocsin.store.catalogue.feed.rows import SqlThreads, erase_about, keep_parts, parts_about, place_parts
from tocsin.store.catalogue.observations.series import SqlAttachments, SqlSeries
from tocsin.store.catalogue.observations.series import erase as erase_series
from tocsin.store.catalogue.observations.usage import SqlUsage
from tocsin.store.catalogue.people import identities, tokens
from tocsin.store.catalogue.people.teams import SqlTeams
from tocsin.store.catalogue.quality.incidents import SqlIncidents
from tocsin.store.catalogue.quality.suite_runs import SqlSuiteRuns
from tocsin.store.catalogue.quality.suites import SqlSuites
from tocsin.store.catalogue.relations import label_names, past, projections, source_links
from tocsin.store.catalogue.relations import lineage_edges as edges
from tocsin.store.catalogue.relations import names as former_names
from tocsin.store.catalogue.relations.column_follows import ColumnFollowRows, erase_follower
from tocsin.store.catalogue.relations.follow_choices import begin_anew, forget_follow
from tocsin.store.catalogue.relations.inheritance import heritage_on
from tocsin.store.catalogue.relations.label_names import RenamingRows
from tocsin.store.catalogue.relations.past import Relation, RelationChanges
from tocsin.store.catalogue.relations.source_links import SqlSourceLinks
from tocsin.store.database import tables
from tocsin.store.database.documents import REFERENCE, STORED, Row, curated_text, entity_of, reference_of, to_text
from tocsin.store.database.entity_tables import renaming
from tocsin.store.database.keys import delete_by_key, rows_by_key
from tocsin.store.database.snapshots import newest_version
from tocsin.store.database.statements import Prepared
from tocsin.store.eventlog import log
from tocsin.store.eventlog.ingested import SqlIngestedEvents, forget_sender
from tocsin.store.eventlog.lag_states import SqlLags

_ENTITY = tables.entity.c
T = TypeVar("T")


def by_value(query: Select[Any], column: str) -> Select[Any]:  # Any: SQLAlchemy's tuple of columns
    """Return the query for the one entity of ``:entity_type`` that has ``:value`` in this column."""
    return query.where(_ENTITY.entity_type == bindparam("entity_type"), _ENTITY[column] == bindparam("value"))


def with_lock(query: Select[Any], hold: Hold) -> Select[Any]:  # Any: SQLAlchemy's tuple of columns
    """Return the query with PostgreSQL's row lock: FOR KEY SHARE, FOR NO KEY UPDATE or FOR UPDATE."""
    return query.with_for_update(read=hold is Hold.SHARED, key_share=hold is not Hold.REMOVE)


_FIND = {
    (column, hold): Prepared(with_lock(by_value(select(*STORED), column), hold))
    for column in ("id", "fqn")
    for hold in Hold
}
_REFER = {column: Prepared(with_lock(by_value(select(*REFERENCE), column), Hold.SHARED)) for column in ("id", "fqn")}


class _RowsOf(Generic[T]):
    """Rows of one subject, as an attribute of a transaction: on its connection at the moment."""

    def __init__(self, rows_type: Callable[[Connection], T]) -> None:
        self._rows_type = rows_type

    def __get__(self, transaction: SqlTransaction, _owner: object) -> T:
        return self._rows_type(transaction._connection)


class SqlTransaction:
    """A write transaction on one connection; ``touched`` gathers the types of what it writes."""

    series = _RowsOf(SqlSeries)
    attachments = _RowsOf(SqlAttachments)
    incidents = _RowsOf(SqlIncidents)
    alert_incidents = _RowsOf(SqlAlertIncidents)
    incident_reminders = _RowsOf(SqlIncidentReminders)
    change_requests = _RowsOf(SqlChangeRequests)
    alert_editors = _RowsOf(SqlAlertEditors)
    lags = _RowsOf(SqlLags)
    suites = _RowsOf(SqlSuites)
    suite_runs = _RowsOf(SqlSuiteRuns)
    teams = _RowsOf(SqlTeams)
    usage = _RowsOf(SqlUsage)
    threads = _RowsOf(SqlThreads)
    ingested_events = _RowsOf(SqlIngestedEvents)
    source_links = _RowsOf(SqlSourceLinks)

    def __init__(self, connection: Connection) -> None:
        self._opened = connection
        self.touched: set[str] = set()
        self._relations = RelationChanges()
        self._renamed = RenamingRows()
        self._column_follows = ColumnFollowRows()
        self._remembered: dict[str, list[Relation]] = {}
        self._edges: dict[str, list[Edge]] = {}
        self._parts: dict[str, list[dict[str, object]]] = {}
        self._inherited: dict[Entry, Heritage] = {}

    @property
    def _connection(self) -> Connection:
        return self._opened

    def _run(self, statement: Any, values: Row | None = None) -> Any:  # Any: SQLAlchemy's own
        return self._connection.execute(statement, values)

    def find(self, entity_type: str, key: Key, hold: Hold = Hold.CHANGE) -> Stored | None:
        """Return the entity, soft-deleted or not, and hold it; None if there is none."""
        row = look_up(
            entity_type,
            key,
            lambda column, values: _FIND[column, hold].run(self._connection, values).fetchone(),
        )
        return None if row is None else self._with_memberships([entity_of(*row)])[0]

    def reference(self, entity_type: str, key: Key) -> Document | None:
        """Return the full reference to an entity (with ``deleted`` when it is), held as shared; None if none."""
        return reference_on(self._connection, entity_type, key)

    def descendants(self, entity_types: Sequence[str], fqn: str) -> list[Stored]:
        """Return every entity of these types whose FQN is below ``fqn``, locked for removal, in FQN order."""
        is_below = _ENTITY.entity_type.in_(entity_types), lies_under(fqn)
        entities = self._hold_entities(*is_below, hold=Hold.REMOVE)
        # A child that was being added while the first look waited for its parent shows in the second.
        again = self._hold_entities(*is_below, hold=Hold.REMOVE)
        while len(again) != len(entities):
            entities, again = again, self._hold_entities(*is_below, hold=Hold.REMOVE)
        return again

    def entities_referring_to(self, entity_ids: Sequence[str], tags: Sequence[str]) -> list[Stored]:
        """Return every entity that names one of these in a list of references, or carries one of these tags."""
        entities_by_id: dict[str, Stored] = {}
        for which in projections.queries_naming(entity_ids, tags):
            entities_by_id |= {entity.id: entity for entity in self._hold_entities(_ENTITY.id.in_(which))}
        return self._with_memberships(sorted(entities_by_id.values(), key=lambda entity: entity.fqn))

    def entities_naming(self, entity_id: str, *, after: str, limit: int) -> list[Stored]:
        """Return entities that name this one in a list of references, or that it follows, ``after`` an id."""
        ids: set[str] = set()
        for which in (*projections.queries_naming([entity_id], []), projections.ids_followed_by(entity_id)):
            (column,) = which.selected_columns
            ids.update(self._run(which.where(column > after).order_by(column).limit(limit)).scalars())
        entities: list[Stored] = []
        for chunk in chunks_of(sorted(ids)[:limit]):
            entities += self._hold_entities(_ENTITY.id.in_(chunk), order=_ENTITY.id)
        return self._with_memberships(entities)

    def followed_entities(self, user_ids: Sequence[str]) -> list[tuple[Stored, list[str]]]:
        """Return every entity that any of these users follows, held for change, with the ids of those users."""
        follow = tables.follow.c
        by_entity: dict[str, list[str]] = {}
        query = select(follow.entity_id, follow.user_id)
        for row in rows_by_key(self._connection, query, follow.user_id, user_ids):
            by_entity.setdefault(row.entity_id, []).append(row.user_id)
        entities: list[Stored] = []
        for chunk in chunks_of(sorted(by_entity)):
            entities += self._hold_entities(_ENTITY.id.in_(chunk))
        return [(one, by_entity[one.id]) for one in sorted(entities, key=lambda one: one.fqn)]

    def entities_with_property(self, entity_type: str, name: str) -> list[Stored]:
        """Return every entity of this type that has a value of this custom property, held for change."""
        written = _ENTITY.document.contains(to_text({name: 0})[1:-2], autoescape=True)
        entities = self._hold_entities(_ENTITY.entity_type == entity_type, written)
        return self._with_memberships([one for one in entities if name in (one.document.get("extension") or {})])

    def remember_renaming(self, renamed: Stored, new_fqn: str) -> None:
        """Record that an entity and all below it are called by a new name from the entity's event on."""
        self._renamed.add_root(renamed, new_fqn)

    def remember_names(self, names: Sequence[tuple[str, str, str]]) -> None:
        """Record what entities were called until now: type, FQN and id of each."""
        former_names.record_former_names(self._connection, names)

    def formerly(self, types: Sequence[str], name: str) -> Document | None:
        """Return a reference to the entity of these types that was called so, while nothing else is; None if none."""
        return former_names.current(self._connection, types, name)

    def holder(self, types: Sequence[str], name: str, at_ms: int) -> str | None:
        """Return the id of the entity of these types that was called so at a time, even if it is deleted now."""
        holders = former_names.holders(self._connection, types, name)
        return former_names.holder_at(holders, at_ms)

    def entities_containing(self, entity_type: str, text: str) -> list[Stored]:
        """Return entities of a type whose documents may contain a text, held for change: all that do, and few more."""
        plain = max(re.split(r"\W", text), key=len)  # written the same way in JSON, conditions and patterns
        is_there = _ENTITY.document.contains(plain, autoescape=True)
        return self._hold_entities(_ENTITY.entity_type == entity_type, is_there)

    def heritage(self, entity_type: str, fqn: str) -> Heritage:
        """Return what an entity at this place inherits if it has nothing of its own: the same as its siblings do."""
        place = (entity_type, names.parent(fqn) or "")
        if place not in self._inherited:
            self._inherited[place] = self._heritage_now((entity_type, fqn))
        return self._inherited[place]

    def _heritage_now(self, place: Entry) -> Heritage:
        return heritage_on(self._connection, [place]).get(place, {})

    def version(self, entity_id: str, number: Decimal) -> Document | None:
        """Return one version of an entity, its labels under their names of now, or None if it has no such version."""
        is_it = tables.entity_version.c.version_tenths == version_to_tenths(number)
        document = newest_version(self._connection, entity_id, is_it)
        return None if document is None else label_names.as_called(self._connection, document)

    def reason_of(self, entity_id: str, number: Decimal) -> str | None:
        """Return why a version of an entity was written, as its author says; None if they do not say."""
        version = tables.entity_version.c
        is_it = and_(version.entity_id == entity_id, version.version_tenths == version_to_tenths(number))
        reason: str | None = self._run(select(version.reason).where(is_it)).scalar_one_or_none()
        return reason

    def states(self, entity_id: str) -> Iterable[tuple[Document, bool]]:
        """Return the document of every version of an entity, oldest first, and whether a bot wrote it."""
        return authors.authored_versions(self._connection, entity_id)

    def remember_curated(self, entity_id: str, curated: frozenset[str]) -> None:
        """Record the paths of the values of an entity that a person wrote last."""
        self._run(update(tables.entity).where(_ENTITY.id == entity_id).values(curated=curated_text(curated)))

    def forget_version(self, entity_id: str, number: Decimal) -> None:
        """Remove one version of an entity, to be kept again in another form or taken back."""
        version = tables.entity_version.c
        is_it = and_(version.entity_id == entity_id, version.version_tenths == version_to_tenths(number))
        self._run(delete(tables.entity_version).where(is_it))
        label_names.version_rewritten(self._connection, entity_id, version_to_tenths(number))

    def insert(self, new: Stored) -> None:
        """Add an entity and its first version."""
        self._write(EntityChange(None, new))

    def update(self, old: Stored, new: Stored) -> None:
        """Replace an entity; a new version is kept when the version number differs."""
        self._write(EntityChange(old, new))

    def _write(self, change: EntityChange) -> None:
        self.touched.add(change.new.entity_type)
        self._forget_heritage(change.new.entity_type)
        changes.write(self._connection, [change], self._relations)

    def _forget_heritage(self, changed_type: str) -> None:
        """Drop what was read of an entity's ancestors, or of whom they name, where this type may be one of these."""
        self._inherited = {
            place: values
            for place, values in self._inherited.items()
            if changed_type not in types_above(place[0]) and changed_type not in INHERITABLE
        }

    def relabel(self, old: Stored, new: Stored, relabelling: Relabelling) -> None:
        """Replace an entity by one whose labels have new names, without a version; remember which they were."""
        self.update(old, new)
        projections.relabel(self._connection, old, new, relabelling.names)
        rules_revision.note(self._connection, old, new)
        self._renamed.add(new, relabelling)

    def remember_relations(self, entity_ids: Collection[str]) -> None:
        """Load owners, followers, edges and ancestors of entities that are about to be erased together."""
        self._remembered |= past.relations_of(self._connection, set(entity_ids))
        self._edges |= edges.edges_touching(self._connection, set(entity_ids))

    def erase(self, erased: Sequence[Stored]) -> None:
        """Remove entities and all that hangs on them, except their versions, by as many statements as one of them."""
        ids = {one.id for one in erased}
        if unknown_ids := ids - self._remembered.keys():
            self.remember_relations(unknown_ids)
        relations_to = past.relations_to(self._connection, erased)
        for entity in erased:
            self._relations.end(entity.id, [*self._remembered.pop(entity.id), *relations_to[entity.id]])
            self.touched.add(entity.entity_type)
        rules_revision.note_erased(self._connection, erased)
        tokens.note_erased(self._connection, erased)
        self._inherited.clear()
        self._edges.clear()
        projections.erase(self._connection, ids)
        former_holders = [(one.entity_type, one.fqn, one.id) for one in erased if one.entity_type in REMEMBERED]
        former_names.record_former_names(self._connection, former_holders)
        delete_by_key(self._connection, renaming.c.entity_id, ids)
        edges.erase(self._connection, ids)
        source_links.erase(self._connection, ids)
        for relation in change_requests.erase(self._connection, ids):
            self._relations.end(str(relation["other_id"]), [relation])
        self._parts |= parts_about(self._connection, ids)
        erase_about(self._connection, ids)
        erase_series(self._connection, ids)
        erase_alerts(self._connection, [one.id for one in erased if one.entity_type == "eventsubscription"])
        for user in (one for one in erased if one.entity_type == "user"):
            identities.forget(self._connection, user.id)
            forget_sender(self._connection, user.id, user.document["name"])
            erase_follower(self._connection, user.id)
        delete_by_key(self._connection, _ENTITY.id, ids)

    def follow(self, entity: Stored, user_id: str, column_path: str | None = None) -> bool:
        """Make the user a follower, perhaps of a column, as of the event of this write; False if they were one."""
        if column_path is not None:
            return self._column_follows.begin(self._connection, (entity.id, column_path, user_id))
        follow = tables.follow.c
        is_following = select(follow.user_id).where(follow.entity_id == entity.id, follow.user_id == user_id)
        if self._run(is_following).first():
            return False
        begin_anew(self._connection, user_id, entity.id)
        row = {"entity_id": entity.id, "user_id": user_id, "entity_type": entity.entity_type}
        self._run(insert(tables.follow), row)
        self._relations.begin(entity.id, tables.follow, (entity.id, user_id))
        return True

    def unfollow(self, entity: Stored, user_id: str, column_path: str | None = None) -> bool:
        """Make the user no follower, perhaps of a column; False if they were none."""
        forget_follow(self._connection, user_id, entity.id, column_path)
        if column_path is not None:
            return self._column_follows.end(self._connection, (entity.id, column_path, user_id))
        follow = tables.follow.c
        deletion = delete(tables.follow).where(follow.entity_id == entity.id, follow.user_id == user_id)
        since = self._run(deletion.returning(follow.since_offset)).scalar()
        if since is None:
            return False
        relation = {"entity_id": entity.id, "relation": past.FOLLOWER, "since_offset": since}
        self._relations.end(entity.id, [relation | {"other_id": user_id, "other_type": "user"}])
        return True

    def edge(self, from_id: str, to_id: str) -> Edge | None:
        """Return a lineage edge and lock it; None if there is no such edge."""
        return edges.find(self._connection, from_id, to_id)

    def edges_of(self, entity_id: str) -> list[Edge]:
        """Return every lineage edge that leads from or to an entity, or whose data it moves."""
        known_edges = self._edges.get(entity_id)
        return edges.edges_touching(self._connection, [entity_id])[entity_id] if known_edges is None else known_edges

    def read_by_others(self, entity_ids: Collection[str]) -> Collection[str]:
        """Return the ids of those of these entities that something reads, or that move what something reads."""
        return edges.read_by_others(self._connection, entity_ids)

    def put_edge(self, from_: Stored, to: Stored, details: Document) -> None:
        """Add a lineage edge or replace its details."""
        self._forget_edges(from_.id, to.id, (details.get("pipeline") or {}).get("id"))
        if edges.put(self._connection, from_, to, details):
            self._relations.begin(to.id, tables.lineage_edge, (from_.id, to.id))

    def delete_edge(self, from_id: str, to_id: str) -> None:
        """Remove a lineage edge."""
        self._forget_edges(from_id, to_id)
        if (edge := edges.remove(self._connection, from_id, to_id)) is not None:
            relation = {"entity_id": from_id, "relation": past.DOWNSTREAM, "other_id": to_id}
            name = self._run(select(_ENTITY.fqn).where(_ENTITY.id == to_id)).scalar_one_or_none()
            self._relations.end(to_id, [relation | edge | {"other_fqn": name}])

    def _forget_edges(self, *ends: str | None) -> None:
        """Drop what was remembered of the edges of these assets."""
        for end in ends:
            self._edges.pop(end or "", None)

    def append(self, events: Iterable[CapturedEvent]) -> Mapping[str, bool]:
        """Add events to the log, in this order; return ``Written.deletedness`` of a single one's entity."""
        return self._log(self._connection, list(events))

    def _log(self, connection: Connection, captured: Sequence[CapturedEvent]) -> Mapping[str, bool]:
        """Append events, and record their offsets in the other rows that this transaction has written."""
        appended = log.append(connection, captured)
        events = list(zip(appended.offsets, (one.event for one in captured), strict=True))
        self._relations.write(connection, events)
        self._renamed.write(connection, events)
        self._column_follows.write(connection, events)
        for at, event in events:
            if event.entity_type == THREAD:
                place_parts(connection, event.entity_id, at)
            if event.event_type is EventType.ENTITY_DELETED:
                keep_parts(connection, at, self._parts.pop(event.entity_id, ()))
        return appended.deletedness

    def _hold_entities(
        self,
        *conditions: ColumnElement[bool],
        hold: Hold = Hold.CHANGE,
        order: ColumnElement[str] = _ENTITY.fqn,
    ) -> list[Stored]:
        """Return the entities that meet these conditions, held."""
        query = select(*STORED).where(*conditions).order_by(order)
        return [entity_of(*row) for row in self._run(with_lock(query, hold))]

    def _with_memberships(self, entities: list[Stored]) -> list[Stored]:
        for entity in entities:
            projections.add_memberships(self._connection, entity.entity_type, [entity.document])
        return entities


def reference_on(connection: Connection, entity_type: str, key: Key) -> Document | None:
    """Return the full reference to an entity (with ``deleted`` when it is), held as shared; None if none."""
    row = look_up(entity_type, key, lambda column, values: _REFER[column].run(connection, values).fetchone())
    return None if row is None else reference_of(*row)


def title_of(connection: Connection, entity_id: str) -> str:
    """Return what people call an entity, ``table pg.shop.public.orders``; by its id where it is gone for good."""
    row = connection.execute(select(_ENTITY.entity_type, _ENTITY.fqn).where(_ENTITY.id == entity_id)).first()
    return f"entity {entity_id}" if row is None else f"{row.entity_type} {row.fqn}"


def lookups(entity_type: str, key: Key) -> tuple[str, list[str]]:
    """Return the column by which to find an entity, and the values to try in order.

    People type the name of a user or a service without the quotation marks its FQN needs.
    """
    if key.id is not None:
        return "id", [key.id]
    fqn = key.fqn or ""
    is_bare = not ENTITY_TYPES[entity_type].places and "." in fqn and not fqn.startswith('"')
    return "fqn", [fqn, names.quote(fqn)] if is_bare else [fqn]


def look_up(entity_type: str, key: Key, fetch: Callable[[str, Row], T | None]) -> T | None:
    """Return what ``fetch`` returns for a column and the first value by which the entity is found; None if none."""
    column, values = lookups(entity_type, key)
    entity_rows = (fetch(column, {"entity_type": entity_type, "value": value}) for value in values)
    return next((row for row in entity_rows if row is not None), None)


def row_of(connection: Connection, queries: Mapping[str, Select[Any]], entity_type: str, key: Key) -> Any:  # Any: a row
    """Return the row of an entity, by the query (``by_value``) for the column that the key names; None if none."""
    return look_up(entity_type, key, lambda column, values: connection.execute(queries[column], values).one_or_none())


def lies_under(fqn: str) -> Any:  # Any: SQLAlchemy's condition
    """Return the condition that an entity's FQN is below ``fqn``, as a range of the index."""
    return and_(_ENTITY.fqn > f"{fqn}.", _ENTITY.fqn < f"{fqn}/")  # "/" is what follows "."
