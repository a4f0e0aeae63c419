"""Which rows say the same as a document, so that it can be found by them? People, tags, owners, memberships.

They are written in the document's own transaction, and only when they differ from the old document's.
A team's members and a user's teams are kept here alone: two documents would have to agree on them.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, Table, delete, insert, or_, select, update

from tocsin.flow.capture.ports import Stored
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.store import tables
from tocsin.store.documents import Row

Rows = frozenset[tuple[str, str, str]]

_MEMBER_FIELDS = {"user": ("teams",), "team": ("users", "parents")}
"""Per type, the keys that memberships fill; they are not part of the stored document."""


def write(connection: Connection, old: Stored | None, new: Stored) -> None:
    """Bring the rows of an entity from what ``old`` says to what ``new`` says."""
    for table, keys, rows_of in (
        (tables.entity_tag, ("entity_id", "tag_fqn"), _tags),
        (tables.ownership, ("entity_id", "owner_id", "owner_type"), _owners),
        (tables.membership, ("team_id", "member_id", "member_type"), _members),
    ):
        before, after = rows_of(old) if old else frozenset(), rows_of(new)
        _remove(connection, table, keys, before - after)
        _add(connection, table, keys, after - before)
    if new.entity_type == "user":
        _write_person(connection, old, new)


def erase(connection: Connection, entity_id: str) -> None:
    """Remove every row that an entity, a user or a team has in any of these tables."""
    tag, owner, member, follow = tables.entity_tag.c, tables.ownership.c, tables.membership.c, tables.follow.c
    connection.execute(delete(tables.person).where(tables.person.c.user_id == entity_id))
    connection.execute(delete(tables.entity_tag).where(tag.entity_id == entity_id))
    connection.execute(delete(tables.ownership).where(or_(owner.entity_id == entity_id, owner.owner_id == entity_id)))
    connection.execute(delete(tables.membership).where(or_(member.team_id == entity_id, member.member_id == entity_id)))
    connection.execute(delete(tables.follow).where(or_(follow.entity_id == entity_id, follow.user_id == entity_id)))


def without_memberships(entity: Stored) -> Document:
    """Return the document as it is stored."""
    fields = _MEMBER_FIELDS.get(entity.entity_type, ())
    return {key: value for key, value in entity.document.items() if key not in fields} if fields else entity.document


def add_memberships(connection: Connection, entity_type: str, documents: list[Document]) -> None:
    """Fill in the members of teams and the teams of users."""
    if entity_type not in _MEMBER_FIELDS or not documents:
        return
    by_id = {document["id"]: document for document in documents}
    for field, own, other, member_type in _links(entity_type):
        for document_id, reference in _linked(connection, own, other, (member_type, list(by_id))):
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
        "deleted": user.deleted,
    }


def _links(entity_type: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (field, column of this entity, column of the other one, type of the member)."""
    if entity_type == "user":
        yield "teams", "member_id", "team_id", "user"
    else:
        yield "users", "team_id", "member_id", "user"
        yield "parents", "member_id", "team_id", "team"


def _linked(
    connection: Connection, own: str, other: str, wanted: tuple[str, list[str]]
) -> Iterator[tuple[str, Document]]:
    member_type, ids = wanted
    membership, entity = tables.membership.c, tables.entity.c
    query = (
        select(membership[own], entity.id, entity.entity_type, entity.name, entity.fqn)
        .join(tables.entity, entity.id == membership[other])
        .where(membership[own].in_(ids), membership.member_type == member_type)
        .order_by(entity.fqn)
    )
    for own_id, entity_id, entity_type, name, fqn in connection.execute(query):
        yield own_id, {"id": entity_id, "type": entity_type, "name": name, "fullyQualifiedName": fqn}


def _tags(entity: Stored) -> Rows:
    return frozenset(
        (entity.id, tag, "") for tag in _labels(entity.document, ENTITY_TYPES[entity.entity_type].children)
    )


def _labels(document: Document, children: str | None) -> Iterator[str]:
    for label in document.get("tags") or ():
        yield label["tagFQN"]
    for member in document.get(children or "") or ():
        yield from _labels(member, "children")


def _owners(entity: Stored) -> Rows:
    owners = entity.document.get("owners") or ()
    return frozenset((entity.id, owner["id"], owner["type"]) for owner in owners if "id" in owner)


def _members(entity: Stored) -> Rows:
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


def _remove(connection: Connection, table: Table, keys: tuple[str, ...], rows: Rows) -> None:
    for row in sorted(rows):
        first, second = keys[:2]
        connection.execute(delete(table).where(table.c[first] == row[0], table.c[second] == row[1]))


def _add(connection: Connection, table: Table, keys: tuple[str, ...], rows: Rows) -> None:
    if rows:
        connection.execute(insert(table), [dict(zip(keys, row, strict=False)) for row in sorted(rows)])
