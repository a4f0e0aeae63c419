"""Followers of an entity; following makes an event and no version."""

from __future__ import annotations

from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.write import Record
from tocsin.model.change import describe
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import with_article
from tocsin.model.stored import Key, Stored, Written


def follow(record: Record, entity: Stored, user_id: str) -> Written:
    """Make a user a follower; nothing if they are one already.

    Raises
    ------
    NotFound : there is no such user.
    InvalidInput : the user is deleted, or nobody can follow this type.
    """
    _check_followable(entity)
    user = _user(record, user_id)
    if user.get("deleted"):
        raise InvalidInput(f"user {user['name']} is deleted")
    if not record.transaction.follow(entity, user["id"]):
        return Written(entity.document, None)
    return record.note(entity, describe("followers", new=[user]))


def unfollow(record: Record, entity: Stored, user_id: str) -> Written:
    """Make a user, deleted or not, no follower; nothing if they are none. Raises as ``follow``."""
    _check_followable(entity)
    user = _user(record, user_id)
    if not record.transaction.unfollow(entity, user["id"]):
        return Written(entity.document, None)
    return record.note(entity, describe("followers", old=[user]))


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
