"""Rows of follows of columns in one write transaction: begun and ended by its events.

A follow ends with its column: the event by which the column goes is the last that is told. Next:
``store/recipients/column_followers.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select, text, update

from tocsin.flow.resolve.directory import NO_END
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.columns import column_fqns, path_below, removed_columns
from tocsin.store.catalogue.relations.follow_choices import forget_follow
from tocsin.store.database.engine import is_sqlite
from tocsin.store.database.follow_tables import column_follow, follow_refusal
from tocsin.store.database.keys import present_keys

_FOLLOW = column_follow.c
_HOLD = text("SELECT pg_advisory_xact_lock(hashtext('tocsin column follow'), hashtext(:key))")
_Key = tuple[str, str, str]
"""The asset, the path of the column in it, and the follower."""


class ColumnFollowRows:
    """The follows of columns that a transaction begins and ends, until its events have offsets."""

    def __init__(self) -> None:
        self._begun: dict[str, list[_Key]] = {}
        self._ended: dict[str, list[_Key]] = {}

    def begin(self, connection: Connection, key: _Key) -> bool:
        """Note that the coming event of an asset begins a follow; False if there is one."""
        _hold(connection, key)
        if is_current(connection, key):
            return False
        entity_id, column_path, user_id = key
        forget_follow(connection, user_id, entity_id, column_path)  # a column of that name may have been removed
        self._begun.setdefault(key[0], []).append(key)
        return True

    def end(self, connection: Connection, key: _Key) -> bool:
        """Note that the coming event of an asset ends a follow; False if there is none."""
        _hold(connection, key)
        if not is_current(connection, key):
            return False
        self._ended.setdefault(key[0], []).append(key)
        return True

    def write(self, connection: Connection, events: Sequence[tuple[int, ChangeEvent]]) -> None:
        """Store what the events of a transaction, each with its offset, have begun and ended."""
        erased_ids = {event.entity_id for _, event in events if event.event_type is EventType.ENTITY_DELETED}
        followed_ids = present_keys(connection, _FOLLOW.entity_id, erased_ids) if erased_ids else set()
        for at, event in events:
            for key in self._begun.pop(event.entity_id, ()):
                names = ("entity_id", "column_path", "user_id")
                row = dict(zip(names, key, strict=True)) | {"since_offset": at, "until_offset": NO_END}
                connection.execute(insert(column_follow), row)
            for entity_id, path, user_id in self._ended.pop(event.entity_id, ()):
                is_it = _FOLLOW.entity_id == entity_id, _FOLLOW.column_path == path, _FOLLOW.user_id == user_id
                is_current = _FOLLOW.until_offset == NO_END
                connection.execute(update(column_follow).where(*is_it, is_current).values(until_offset=at - 1))
            if event.entity_id not in erased_ids - followed_ids:
                _end_with_columns(connection, event, at)

    def clear(self) -> None:
        """Forget what was noted: it was taken back."""
        self._begun.clear()
        self._ended.clear()


def erase_follower(connection: Connection, user_id: str) -> None:
    """Remove the follows of columns of a person who is about to go, and their refusals of follows of teams."""
    connection.execute(delete(column_follow).where(_FOLLOW.user_id == user_id))
    connection.execute(delete(follow_refusal).where(follow_refusal.c.user_id == user_id))


def _hold(connection: Connection, key: _Key) -> None:
    """Let what begins or ends this follow at the same time wait for this transaction; SQLite has but one writer."""
    if not is_sqlite(connection):
        connection.execute(_HOLD, {"key": "/".join(key)})


def is_current(connection: Connection, key: _Key) -> bool:
    """Return whether a person follows a column now."""
    is_it = (_FOLLOW.entity_id, _FOLLOW.column_path, _FOLLOW.user_id)
    conditions = (column == value for column, value in zip(is_it, key, strict=True))
    query = select(_FOLLOW.user_id).where(*conditions, _FOLLOW.until_offset == NO_END)
    return connection.execute(query).first() is not None


def _end_with_columns(connection: Connection, event: ChangeEvent, at: int) -> None:
    """End the follows of columns that an event removes, with all below them, or those of an asset that goes for good.

    Most events remove none, and cost no statement.
    """
    change = event.change_description
    deleted_fields = [] if change is None else [(one.name, one.old_value) for one in change.fields_deleted]
    paths = removed_columns(event.entity_type, deleted_fields) if deleted_fields else set()
    if paths and event.entity:  # an API endpoint may have it in its response still
        fqn = event.entity_fully_qualified_name or ""
        paths -= {path_below(one, fqn) for one in column_fqns(event.entity_type, fqn, event.entity)}
    is_gone = event.event_type is EventType.ENTITY_DELETED
    if not paths and not is_gone:
        return
    current = select(_FOLLOW.column_path).where(_FOLLOW.entity_id == event.entity_id, _FOLLOW.until_offset == NO_END)
    for path in connection.scalars(current.distinct()).all():
        if is_gone or any(path == one or path.startswith(f"{one}.") for one in paths):
            is_it = _FOLLOW.entity_id == event.entity_id, _FOLLOW.column_path == path, _FOLLOW.until_offset == NO_END
            connection.execute(update(column_follow).where(*is_it).values(until_offset=at))
