"""Choices of people for single follows in the store, beside their preferences: one row says all that a person prefers.

So a micro-batch reads the old ones or the new ones, whole, without a statement of its own. They end with the follow.
Next: ``store/outbox/preferences.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

import orjson
from pydantic import TypeAdapter
from sqlalchemy import Connection, delete, select, update

from tocsin.errors import InvalidInput
from tocsin.flow.resolve.directory import NO_END
from tocsin.model.follow_choices import MOST_CHOSEN, FollowChoices
from tocsin.model.notification import follow_key
from tocsin.store.database.engine import insert_into
from tocsin.store.database.follow_tables import idle_follow, team_follow
from tocsin.store.database.people_tables import NO_DOCUMENT, notification_preference

_ROW, _TEAM, _IDLE = notification_preference.c, team_follow.c, idle_follow.c
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
    ended_keys: Collection[str],
    at_ms: int,
) -> None:
    """Replace a person's choices for some follows; empty ones end. Those for ``ended_keys`` go as well.

    Raises
    ------
    InvalidInput : they would be more than a person may have
    """
    row = {"user_id": user_id, "document": NO_DOCUMENT, "updated_at_ms": at_ms}
    connection.execute(insert_into(connection, notification_preference).values(row).on_conflict_do_nothing())
    query = select(_ROW.follows).where(_ROW.user_id == user_id).with_for_update()
    choices = {**parse_choices(connection.scalar(query)), **changes}
    choices = {key: one for key, one in choices.items() if key not in ended_keys and not one.is_empty}
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


def begin_anew(connection: Connection, user_id: str, entity_id: str) -> None:
    """Remove what is left of an earlier follow of an asset, unless a team lets its members follow it.

    Then it may have been one by default all the time, and goes on. Choices that were stored while a follow ended, or by
    who has left a team since, are no choices for a new one.
    """
    is_let = (_TEAM.entity_id == entity_id) & (_TEAM.until_offset == NO_END)
    if connection.scalar(select(_TEAM.entity_id).where(is_let).limit(1)) is None:
        forget_follow(connection, user_id, entity_id)


def forget_follow(connection: Connection, user_id: str, entity_id: str, column_path: str | None = None) -> None:
    """Remove what is kept of a follow that ends: what was chosen for it, and that its end was warned of."""
    forget_choices(connection, user_id, follow_key(entity_id, column_path))
    is_it = (_IDLE.user_id == user_id) & (_IDLE.entity_id == entity_id) & (_IDLE.column_path == (column_path or ""))
    connection.execute(delete(idle_follow).where(is_it))


def _text_of(choices: Mapping[str, FollowChoices]) -> str | None:
    stored = {key: one.to_stored() for key, one in sorted(choices.items())}
    return orjson.dumps(stored).decode() if stored else None
