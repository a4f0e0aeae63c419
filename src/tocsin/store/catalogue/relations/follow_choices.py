"""Choices of people for single follows in the store, beside their preferences: one row says all that a person prefers.

So a micro-batch reads the old ones or the new ones, whole, without a statement of its own. They end with the follow.
Next: ``store/outbox/preferences.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

import orjson
from pydantic import TypeAdapter
from sqlalchemy import Connection, select, update

from tocsin.errors import InvalidInput
from tocsin.model.follow_choices import MOST_CHOSEN, FollowChoices
from tocsin.store.database.engine import insert_into
from tocsin.store.database.people_tables import NO_DOCUMENT, notification_preference

_ROW = notification_preference.c
_CHOICES = TypeAdapter(dict[str, FollowChoices])


_LONGEST = 2_000_000
"""Characters of one person's choices at most: a micro-batch that tells them of anything reads all."""


@lru_cache(maxsize=64)
def parse_choices(text: str | None) -> Mapping[str, FollowChoices]:
    """Return stored choices by ``follow_key``."""
    return _CHOICES.validate_json(text) if text else {}


def choices_of(connection: Connection, user_id: str) -> Mapping[str, FollowChoices]:
    """Return a person's choices for follows, by ``follow_key``."""
    return parse_choices(connection.scalar(select(_ROW.follows).where(_ROW.user_id == user_id)))


def change_choices(
    connection: Connection,
    user_id: str,
    changes: Mapping[str, FollowChoices],
    followed_keys: Collection[str],
    at_ms: int,
) -> None:
    """Replace a person's choices for some follows; empty ones end. Those for what they no longer follow go as well.

    Raises
    ------
    InvalidInput : they would be more than a person may have
    """
    row = {"user_id": user_id, "document": NO_DOCUMENT, "updated_at_ms": at_ms}
    connection.execute(insert_into(connection, notification_preference).values(row).on_conflict_do_nothing())
    query = select(_ROW.follows).where(_ROW.user_id == user_id).with_for_update()
    choices = {**parse_choices(connection.scalar(query)), **changes}
    choices = {key: one for key, one in choices.items() if key in followed_keys and not one.is_empty}
    if len(choices) > MOST_CHOSEN:
        raise InvalidInput(f"A person may have choices for {MOST_CHOSEN:,} follows at most, not {len(choices):,}.")
    text = _text_of(choices)
    if text and len(text) > _LONGEST:
        raise InvalidInput(f"A person's choices for follows take {_LONGEST:,} characters at most: choose less of each.")
    columns = {"follows": text, "updated_at_ms": at_ms}
    connection.execute(update(notification_preference).where(_ROW.user_id == user_id).values(columns))


def forget_choices(connection: Connection, user_id: str, key: str) -> None:
    """Remove a person's choices for a follow that ends; messages that wait by them keep their time."""
    query = select(_ROW.follows).where(_ROW.user_id == user_id, _ROW.follows.is_not(None)).with_for_update()
    choices = dict(parse_choices(connection.scalar(query)))
    if choices.pop(key, None) is not None:
        columns = {"follows": _text_of(choices)}
        connection.execute(update(notification_preference).where(_ROW.user_id == user_id).values(columns))


def _text_of(choices: Mapping[str, FollowChoices]) -> str | None:
    stored = {key: one.to_stored() for key, one in sorted(choices.items())}
    return orjson.dumps(stored).decode() if stored else None
