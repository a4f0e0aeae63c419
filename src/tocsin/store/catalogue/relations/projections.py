"""Projections of documents: rows by which entities are found, such as people, tags, references, memberships.

They are written in the document's own transaction, and only where they differ from the old document's.
A team's members and a user's teams are stored only here: two documents would have to agree on them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from sqlalchemy import Connection, Select, Table, delete, insert, select, update

from tocsin.chunks import chunks_of
from tocsin.flow.capture import nested_references
from tocsin.model.entity import Document
from tocsin.model.labels import LabelNames
from tocsin.model.list_identity import MEMBERSHIPS, REFERENCE_LISTS, REFERENCES
from tocsin.model.look_alikes import look_of
from tocsin.model.people import PRINCIPALS
from tocsin.model.stored import Stored
from tocsin.store.catalogue.relations import suite_members
from tocsin.store.database import tables
from tocsin.store.database.documents import Row, reference_of
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.database.follow_tables import dismissed_recommendation, idle_follow, recommendation
from tocsin.store.database.keys import delete_by_key
from tocsin.store.database.people_tables import name_look, team_preference

Entry = tuple[str, str, str]
Rows = frozenset[Entry]

_REFERENCE_FIELDS = frozenset(REFERENCE_LISTS.keys() - {"owners"})
"""The lists of references that have no table of their own."""
_POINTING = _REFERENCE_FIELDS.union(REFERENCES, nested_references.KEYS)
"""Every key of a document that is projected to rows of references."""

_NAMING = (
    tables.person.c.user_id,
    name_look.c.entity_id,
    team_preference.c.team_id,
    tables.entity_tag.c.entity_id,
    tables.ownership.c.entity_id,
    tables.ownership.c.owner_id,
    entity_reference.c.entity_id,
    entity_reference.c.target_id,
    tables.membership.c.team_id,
    tables.membership.c.member_id,
    tables.follow.c.entity_id,
    tables.follow.c.user_id,
    dismissed_recommendation.c.entity_id,
    dismissed_recommendation.c.user_id,
    recommendation.c.user_id,
    idle_follow.c.entity_id,
    idle_follow.c.user_id,
)
"""Every column that names an entity, a user or a team."""


def write(connection: Connection, changes: Iterable[tuple[Stored | None, Stored]]) -> None:
    """Update the projections of entities, each at most once, from their old to their new documents."""
    pairs = list(changes)
    for table, keys, rows_of in _TABLES:
        removed_entries: set[Entry] = set()
        come: set[Entry] = set()
        for old, new in pairs:
            before, after = rows_of(old) if old else frozenset(), rows_of(new)
            if before != after:
                removed_entries |= before - after
                come |= after - before
        for row in sorted(removed_entries):
            is_it = (table.c[key] == value for key, value in zip(keys, row, strict=False))
            connection.execute(delete(table).where(*is_it))
        if come:
            connection.execute(insert(table), [dict(zip(keys, row, strict=False)) for row in sorted(come)])
    for old, new in pairs:
        if new.entity_type == "user":
            _write_person(connection, old, new)
        if new.entity_type == "testCase":
            suite_members.update_suite_member(connection, old, new)


def relabel(connection: Connection, old: Stored, new: Stored, names: LabelNames) -> None:
    """Update the projections of an entity whose labels have new names; it has carried them for as long as before."""
    tag = tables.entity_tag.c
    since = dict(map(tuple, connection.execute(select(tag.tag_fqn, tag.since_offset).where(tag.entity_id == old.id))))
    write(connection, [(old, new)])
    for (_, old_name), new_name in names.items():
        if since.get(old_name):
            is_it = tag.entity_id == old.id, tag.tag_fqn == new_name
            connection.execute(update(tables.entity_tag).where(*is_it).values(since_offset=since[old_name]))


def erase(connection: Connection, entity_ids: Collection[str]) -> None:
    """Remove every row that these entities, users or teams have in any of these tables."""
    for column in _NAMING:
        delete_by_key(connection, column, entity_ids)


def projected_rows(entity: Stored) -> dict[Table, frozenset[tuple[object, ...]]]:
    """Return, per table of ``COLUMNS``, the rows of an entity's document."""
    rows_by_table = {
        table: frozenset(row[: len(keys)] for row in rows_of(entity)) for table, keys, rows_of in _BY_DOCUMENT
    }
    people = frozenset({tuple(_person(entity).values())} if entity.entity_type == "user" else ())
    return {**rows_by_table, tables.person: people}


def write_again(connection: Connection, entity: Stored) -> None:
    """Replace the rows of an entity by those of its document."""
    for table, table_rows in projected_rows(entity).items():
        columns = COLUMNS[table]
        connection.execute(delete(table).where(table.c[columns[0]] == entity.id))
        if table_rows:
            connection.execute(insert(table), [dict(zip(columns, row, strict=True)) for row in table_rows])


def queries_naming(entity_ids: Sequence[str], tags: Sequence[str]) -> Iterator[Select[tuple[str]]]:
    """Yield queries for the ids of all entities that name one of these in a list, or carry one of these tags."""
    owner, refers, member, tag = tables.ownership.c, entity_reference.c, tables.membership.c, tables.entity_tag.c
    for chunk in chunks_of(entity_ids):
        yield select(owner.entity_id).where(owner.owner_id.in_(chunk))
        yield select(refers.entity_id).where(refers.target_id.in_(chunk))
        yield select(member.team_id).where(member.member_id.in_(chunk))
        yield select(member.member_id).where(member.team_id.in_(chunk))
    for chunk in chunks_of(tags):
        yield select(tag.entity_id).where(tag.tag_fqn.in_(chunk))


def ids_followed_by(user_id: str) -> Select[tuple[str]]:
    """Return the query for the ids of all entities that a user follows."""
    return select(tables.follow.c.entity_id).where(tables.follow.c.user_id == user_id)


def without_memberships(entity: Stored) -> Document:
    """Return the document as it is stored."""
    fields = MEMBERSHIPS.get(entity.entity_type, ())
    return {key: value for key, value in entity.document.items() if key not in fields} if fields else entity.document


def add_memberships(connection: Connection, entity_type: str, documents: list[Document]) -> None:
    """Fill in the members of teams and the teams of users."""
    if entity_type not in MEMBERSHIPS or not documents:
        return
    if entity_type == "testCase":
        suite_members.add_suites(connection, documents)
        return
    by_id = {document["id"]: document for document in documents}
    for field, own_column, other_column, member_type in _links(entity_type):
        for document_id, reference in _fetch_linked(connection, own_column, other_column, (member_type, list(by_id))):
            by_id[document_id].setdefault(field, []).append(reference)


def _write_person(connection: Connection, old: Stored | None, new: Stored) -> None:
    row = _person(new)
    if old is None:
        connection.execute(insert(tables.person), row)
    elif _person(old) != row:
        connection.execute(update(tables.person).where(tables.person.c.user_id == new.id).values(row))


def _person(user: Stored) -> Row:
    document = user.document
    return {
        "user_id": user.id,
        "name": document["name"],
        "display_name": document.get("displayName"),
        "email": document.get("email"),
        "is_admin": bool(document.get("isAdmin")),
        "is_bot": bool(document.get("isBot")),
        "deleted": user.is_deleted,
    }


def _links(entity_type: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (field, column of this entity, column of the other one, type of the member)."""
    if entity_type == "user":
        yield "teams", "member_id", "team_id", "user"
    else:
        yield "users", "team_id", "member_id", "user"
        yield "parents", "member_id", "team_id", "team"


def _fetch_linked(
    connection: Connection, own_column: str, other_column: str, members: tuple[str, list[str]]
) -> Iterator[tuple[str, Document]]:
    member_type, ids = members
    membership, entity = tables.membership.c, tables.entity.c
    query = (
        select(membership[own_column], entity.id, entity.entity_type, entity.name, entity.fqn)
        .join(tables.entity, entity.id == membership[other_column])
        .where(membership[own_column].in_(ids), membership.member_type == member_type)
        .order_by(entity.fqn)
    )
    for own_id, entity_id, entity_type, name, fqn in connection.execute(query):
        yield own_id, reference_of(entity_id, entity_type, name, fqn, deleted=False)


def _tags(entity: Stored) -> Rows:
    return frozenset((entity.id, fqn, "") for _, fqn in entity.labels)


def _looks(entity: Stored) -> Rows:
    is_principal = entity.entity_type in PRINCIPALS
    return frozenset({(entity.id, look_of(entity.document["name"]), "")} if is_principal else ())


def owners(entity: Stored) -> Rows:
    """Return the rows of ``ownership`` for a document: entity, owner, type of the owner."""
    owners = entity.document.get("owners") or ()
    return frozenset((entity.id, owner["id"], owner["type"]) for owner in owners if "id" in owner)


def _references(entity: Stored) -> Rows:
    document, kept_elsewhere = entity.document, MEMBERSHIPS.get(entity.entity_type, ())
    if _POINTING.isdisjoint(document):
        return frozenset()
    fields = (field for field in _REFERENCE_FIELDS & document.keys() if field not in kept_elsewhere)
    in_lists = ((field, target) for field in fields for target in document[field] or ())
    also = ((field, document[field]) for field in REFERENCES if document.get(field))
    plain = {
        (entity.id, target["id"], field)
        for field, target in (*in_lists, *also)
        if isinstance(target, dict) and "id" in target
    }
    return frozenset((*plain, *((entity.id, target, field) for field, target in nested_references.pointers(document))))


def members(entity: Stored) -> Rows:
    """Return the rows of ``membership`` for a document: team, member, type of the member."""
    document = entity.document
    match entity.entity_type:
        case "user":
            return frozenset((team["id"], entity.id, "user") for team in document.get("teams") or ())
        case "team":
            users = ((entity.id, user["id"], "user") for user in document.get("users") or ())
            parents = ((parent["id"], entity.id, "team") for parent in document.get("parents") or ())
            return frozenset((*users, *parents))
        case _:
            return frozenset()


_BY_DOCUMENT = (
    (tables.entity_tag, ("entity_id", "tag_fqn"), _tags),
    (tables.ownership, ("entity_id", "owner_id", "owner_type"), owners),
    (entity_reference, ("entity_id", "target_id", "field"), _references),
    (name_look, ("entity_id", "look"), _looks),
)
_TABLES = (*_BY_DOCUMENT, (tables.membership, ("team_id", "member_id", "member_type"), members))
"""Each table, its columns, and the condition for an entity's rows."""
COLUMNS: dict[Table, tuple[str, ...]] = {
    **{table: keys for table, keys, _ in _BY_DOCUMENT},
    tables.person: ("user_id", "name", "display_name", "email", "is_admin", "is_bot", "deleted"),
}
"""Every table that can be made anew from documents, and its columns; the first names the entity."""
