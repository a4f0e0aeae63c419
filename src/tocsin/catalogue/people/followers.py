"""Followers of an entity; following makes an event and no version."""

from __future__ import annotations

from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.write import Record
from tocsin.model.change import ChangeDescription, describe
from tocsin.model.columns import missing_column, relative_fqns_by_spelling
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import with_article
from tocsin.model.stored import Key, Stored, Written


def follow(record: Record, entity: Stored, user_id: str, column: str | None = None) -> Written:
    """Make a user a follower of an asset, or of one column of it; nothing if they are one already.

    Raises
    ------
    NotFound : there is no such user.
    InvalidInput : the user is deleted, nobody can follow this type, or it has no such column.
    """
    _check_followable(entity)
    user = _user(record, user_id)
    if user.get("deleted"):
        raise InvalidInput(f"user {user['name']} is deleted")
    if column is not None:
        path = _column_path(entity, column)
        is_new = record.transaction.follow(entity, user["id"], path)
        return _note_change(record, entity, describe("followers", new=[user | {"column": path}]) if is_new else None)
    is_new = record.transaction.follow(entity, user["id"])
    return _note_change(record, entity, describe("followers", new=[user]) if is_new else None)


def unfollow(record: Record, entity: Stored, user_id: str, column: str | None = None) -> Written:
    """Make a user, deleted or not, no follower; nothing if they are none. Raises as ``follow``."""
    _check_followable(entity)
    user = _user(record, user_id)
    if column is not None:
        path = relative_fqns_by_spelling(entity.entity_type, entity.fqn, entity.document).get(column, column)
        was_following = record.transaction.unfollow(entity, user["id"], path)
        return _note_change(
            record, entity, describe("followers", old=[user | {"column": path}]) if was_following else None
        )
    was_following = record.transaction.unfollow(entity, user["id"])
    return _note_change(record, entity, describe("followers", old=[user]) if was_following else None)


def _note_change(record: Record, entity: Stored, change: ChangeDescription | None) -> Written:
    return Written(entity.document, None) if change is None else record.note(entity, change)


def _column_path(entity: Stored, column: str) -> str:
    """Return the FQN of a column below that of its asset, however it is spelt."""
    paths = relative_fqns_by_spelling(entity.entity_type, entity.fqn, entity.document)
    if column not in paths:
        raise missing_column(entity.fqn, column, paths, field="column")
    return paths[column]


def cannot_follow(entity_type: str) -> InvalidInput:
    """Return the refusal to follow what nobody can follow, with what people can."""
    return InvalidInput(f"{with_article(entity_type)} cannot be followed; people follow assets, users and teams")


def _check_followable(entity: Stored) -> None:
    if not ENTITY_TYPES[entity.entity_type].is_followable:
        raise cannot_follow(entity.entity_type)


def _user(record: Record, user_id: str) -> Document:
    reference = record.transaction.reference("user", Key.by_id(user_id))
    if reference is None:
        raise NotFound(f"user {user_id} not found")
    return reference
