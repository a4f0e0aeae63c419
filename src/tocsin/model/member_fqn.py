"""Fully qualified names of an entity's members, such as columns, tasks and fields.

Stored documents omit them, so renaming an entity renames its members; they are added for display, as is a column's
``ordinalPosition``, its position in the list, which connectors number differently.
A member without tags is shown with an empty list of them: OpenMetadata's client adds tags to the list that it read.
"""

from __future__ import annotations

from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType, value_at

WORKED_OUT = ("fullyQualifiedName", "ordinalPosition")
"""Keys of members that are not stored."""

_ONE_OF_SEVERAL = 2


def with_member_names(kind: EntityType, document: Document) -> Document:
    """Return the document with the FQN of each nested member; ``document`` itself stays as it is.

    Where a type has several lists (request and response of an endpoint), the list's name is part of the FQN.
    """
    name = document.get("fullyQualifiedName")
    if not isinstance(name, str):
        return document
    lists: Document = {}
    for path in kind.member_paths:
        members = value_at(document, path)
        if isinstance(members, list):
            above = fqn.child(name, path[0]) if len(kind.members) >= _ONE_OF_SEVERAL else name
            listed = _members_with_fqn(above, members, counted=path[-1] == "columns")
            lists[path[0]] = listed if len(path) == 1 else {**document[path[0]], path[1]: listed}
    return document | lists


def _members_with_fqn(above: str, members: list[Document], *, counted: bool) -> list[Document]:
    return [_member_with_fqn(above, member, place if counted else None) for place, member in enumerate(members, 1)]


def _member_with_fqn(above: str, member: Document, place: int | None) -> Document:
    member_fqn = fqn.child(above, str(member.get("name")))
    named_member = {"tags": [], **member, "fullyQualifiedName": member_fqn}
    if place is not None:
        named_member["ordinalPosition"] = place
    if isinstance(member.get("children"), list):
        named_member["children"] = _members_with_fqn(member_fqn, member["children"], counted=place is not None)
    return named_member
