"""Current or last state of entities, as access decisions need it.

Past events and versions are as visible as their entity is at the time of reading. The number of statements is bounded,
whatever the number of entities. Next: ``access/person_visibility.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from sqlalchemy import Connection, Engine, select

from tocsin.access.decide import Permissions
from tocsin.access.nodes import asks_about
from tocsin.access.visibility import TypedDocument
from tocsin.access.visibility_parents import ABOUT, GONE, gone_kinds, subject_references, with_found
from tocsin.conditions.documents import tested_table
from tocsin.conditions.test_results import TEST_CASE
from tocsin.model.access import Operation
from tocsin.model.alert_incident import PREFIX
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import Entry, Heritage, lacks, place_of, with_asked, with_inherited
from tocsin.model.pointers import LABEL_TYPES
from tocsin.store.catalogue.relations.inheritance import heritage_on
from tocsin.store.catalogue.relations.past import ABOVE
from tocsin.store.database.alert_tables import alert_incident
from tocsin.store.database.documents import from_text
from tocsin.store.database.engine import reading
from tocsin.store.database.entity_tables import former_name
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.observation_tables import attachment
from tocsin.store.database.retention_tables import deleted_entity
from tocsin.store.database.snapshots import EVENT_TEXT, Texts
from tocsin.store.database.tables import change_event, entity, past_relation

_EVENT, _FORMER = change_event.c, former_name.c
Name = tuple[str, str]
"""Type and FQN."""


class SqlEntityStates:
    """The entities of one store, those that are gone for good included."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, entity_ids: Collection[str]) -> dict[str, TypedDocument]:
        """Return the type and document of each entity, with what it inherits and its subjects.

        A hard-deleted entity has the state in its deletion event; one that never existed has no entry.
        """
        with reading(self._engine) as connection:
            subjects = _subjects_of(connection, entity_ids)
            return _with_about(connection, subjects)

    def references_named(self, fqns: Collection[str]) -> dict[str, list[Document]]:
        """Return references to all that have each of these full names, whatever their types."""
        references: dict[str, list[Document]] = {}
        of_any = entity.c.entity_type.in_(ENTITY_TYPES)
        query = select(entity.c.id, entity.c.entity_type, entity.c.fqn).where(of_any)
        with reading(self._engine) as connection:
            for row in rows_by_key(connection, query, entity.c.fqn, fqns):
                references.setdefault(row.fqn, []).append({"id": row.id, "type": row.entity_type})
        return references

    def labels_named(self, fqns: Collection[str]) -> dict[Name, str]:
        """Return the ids of the tags and terms that are called so now, else of the last that were, by type and FQN."""
        former = select(_FORMER.entity_id.label("id"), _FORMER.entity_type, _FORMER.fqn)
        current = select(entity.c.id, entity.c.entity_type, entity.c.fqn)
        ids: dict[Name, str] = {}
        with reading(self._engine) as connection:
            for query, table in ((former, _FORMER), (current, entity.c)):
                of_labels = query.where(table.entity_type.in_(LABEL_TYPES))
                for row in rows_by_key(connection, of_labels, table.fqn, fqns):
                    ids[row.entity_type, row.fqn] = row.id
        return ids

    def tested_tables(self, subjects_by_id: Mapping[str, TypedDocument]) -> dict[str, TypedDocument]:
        """Return the table of each test among ``subjects_by_id``, by the test's id; one that is gone has no entry."""
        fqns = {
            test_id: fqn
            for test_id, (entity_type, document) in subjects_by_id.items()
            if entity_type == TEST_CASE and (fqn := tested_table(document)) is not None
        }
        if not fqns:
            return {}
        references = self.references_named({*fqns.values()})
        ids = {fqn: one["id"] for fqn, many in references.items() for one in many if one["type"] == "table"}
        tables = self.of({*ids.values()})
        return {test_id: tables[ids[fqn]] for test_id, fqn in fqns.items() if ids.get(fqn) in tables}

    def of_incidents(self, names: Collection[str]) -> dict[str, list[Document]]:
        """Return a reference to the asset of each of these incidents; an unknown one has no entry."""
        numbers = {int(name.removeprefix(PREFIX)): name for name in names}
        references: dict[str, list[Document]] = {}
        with reading(self._engine) as connection:
            for row in rows_by_key(connection, select(alert_incident), alert_incident.c.number, numbers):
                references[numbers[row.number]] = [{"id": row.entity_id, "type": row.entity_type}]
        return references

    def as_asked(
        self, permissions: Permissions, operation: Operation, entity_type: str, document: Document
    ) -> Document:
        """Return a document with its inherited values and subjects, if ``operation`` on it depends on them."""
        reach = permissions.reach(entity_type, operation)
        is_about = asks_about(reach.scope)
        if not reach.inherited and not is_about:
            return document
        with reading(self._engine) as connection:
            if reach.inherited:
                find = partial(_heritage_of, connection)
                document = with_asked(entity_type, document, find, reach.inherited)
            document_id = str(document.get("id", ""))
            return (
                _with_about(connection, {document_id: (entity_type, document)})[document_id][1]
                if is_about
                else document
            )


def _heritage_of(connection: Connection, entry: Entry) -> Heritage:
    return heritage_on(connection, [entry]).get(entry, {})


def _subjects_of(connection: Connection, entity_ids: Collection[str]) -> dict[str, TypedDocument]:
    query = select(entity.c.id, entity.c.entity_type, entity.c.document)
    entities = rows_by_key(connection, query, entity.c.id, entity_ids)
    subjects = _with_heritage(connection, {row.id: (row.entity_type, from_text(row.document)) for row in entities})
    return subjects | _deleted_subjects(connection, [one for one in entity_ids if one not in subjects])


def _deleted_subjects(connection: Connection, entity_ids: Sequence[str]) -> dict[str, TypedDocument]:
    """Return what was deleted for good as the last event of it has it, with all that it inherited then.

    Where retention has removed that event, it has left the state.
    """
    columns, texts = (_EVENT.entity_id, _EVENT.entity_type, *EVENT_TEXT), Texts(connection)
    deleted = _EVENT.event_type == EventType.ENTITY_DELETED.value
    query = select(*columns).where(deleted).order_by(_EVENT.log_offset)
    events = rows_by_key(connection, query, _EVENT.entity_id, entity_ids)
    subjects = {row.entity_id: (row.entity_type, from_text(texts.of(row)).get("entity") or {}) for row in events}
    without_event = [one for one in entity_ids if one not in subjects]
    states = rows_by_key(connection, select(deleted_entity), deleted_entity.c.entity_id, without_event)
    return subjects | {row.entity_id: (row.entity_type, from_text(row.document)) for row in states}


def _with_heritage(connection: Connection, subjects: dict[str, TypedDocument]) -> dict[str, TypedDocument]:
    places = {
        entity_id: place_of(entity_type, document)
        for entity_id, (entity_type, document) in subjects.items()
        if lacks(ENTITY_TYPES[entity_type], document)
    }
    heritage = heritage_on(connection, set(places.values())) if places else {}
    inherited = {}
    for entity_id, place in places.items():
        entity_type, document = subjects[entity_id]
        inherited[entity_id] = entity_type, with_inherited(ENTITY_TYPES[entity_type], document, heritage.get(place, {}))
    return subjects | inherited


def _with_about(connection: Connection, subjects_by_id: dict[str, TypedDocument]) -> dict[str, TypedDocument]:
    """Return tests, suites and queries with what they are about; one of which something is not known stays as it is."""
    references_by_id = {
        entity_id: subject_references(*subject) for entity_id, subject in subjects_by_id.items() if subject[0] in ABOUT
    }
    references_by_id |= _as_they_went(connection, references_by_id)
    deleted_types = _gone_uses(
        connection, [entity_id for entity_id, subject in subjects_by_id.items() if subject[0] == "query"]
    )
    if not any(references_by_id.values()) and not deleted_types:
        return subjects_by_id
    references = [reference for many in references_by_id.values() for reference in many]
    ids = _ids_of(connection, {_name(reference) for reference in references if "id" not in reference})
    targets = _subjects_of(
        connection, {*ids.values(), *(reference["id"] for reference in references if "id" in reference)}
    )
    complete_subjects: dict[str, TypedDocument] = {}
    for entity_id, many in references_by_id.items():
        subjects = [targets.get(reference.get("id") or ids.get(_name(reference), "")) for reference in many]
        existing = [subject for subject in subjects if subject is not None]
        all_subjects = [*existing, *((kind, GONE) for kind in deleted_types.get(entity_id, ()))]
        if all_subjects and len(existing) == len(many):
            complete_subjects[entity_id] = (
                subjects_by_id[entity_id][0],
                with_found(subjects_by_id[entity_id][1], all_subjects),
            )
    return subjects_by_id | complete_subjects


def _as_they_went(connection: Connection, references_by_id: Mapping[str, list[Document]]) -> dict[str, list[Document]]:
    """Return what those were about that are gone for good and say it by name, which another may have now."""
    by_name = [one for one, many in references_by_id.items() if any("id" not in reference for reference in many)]
    past = past_relation.c
    parents = select(past.entity_id, past.other_id, past.other_type).where(past.relation == f"{ABOVE}1")
    parent_rows = rows_by_key(connection, parents, past.entity_id, by_name)
    return {row.entity_id: [{"id": row.other_id, "type": row.other_type}] for row in parent_rows}


def _gone_uses(connection: Connection, query_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the types of the hard-deleted assets that these queries were used in; queries without have no entry."""
    kinds, types_by_query = gone_kinds("query"), dict[str, list[str]]()
    query = select(attachment.c.entity_id, attachment.c.kind).where(attachment.c.kind.in_(kinds))
    for row in rows_by_key(connection, query, attachment.c.entity_id, query_ids):
        types_by_query.setdefault(row.entity_id, []).append(kinds[row.kind])
    return types_by_query


def _name(reference: Document) -> Name:
    return str(reference["type"]), str(reference["fullyQualifiedName"])


def _ids_of(connection: Connection, names: Iterable[Name]) -> dict[Name, str]:
    """Return the ids of the entities of these types and names."""
    by_type: dict[str, list[str]] = {}
    for entity_type, fqn in names:
        by_type.setdefault(entity_type, []).append(fqn)
    ids: dict[Name, str] = {}
    for entity_type, fqns in by_type.items():
        query = select(entity.c.id, entity.c.fqn).where(entity.c.entity_type == entity_type)
        ids |= {(entity_type, row.fqn): row.id for row in rows_by_key(connection, query, entity.c.fqn, fqns)}
    return ids
