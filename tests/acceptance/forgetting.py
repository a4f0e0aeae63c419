"""Faults of the past, put back: what ``make truth`` must find.

``recipients_of_now``: owners, members and lineage are those of the moment at which the pipeline looks. ``letting_go``:
the relations of a hard-deleted asset go as soon as any query has read past its deletion, although a slower one needs
them still.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from sqlalchemy import delete, select

from tocsin.flow.resolve.directory import NO_END
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import past_relation, tombstone
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.recipients import relations_over_time

Set = Callable[[object, str, object], None]
"""Replaces an attribute, for as long as the fault is to last."""

SEARCH = "search_stream"
_WAIT_S = 120
_HELD = relations_over_time.relations_held
_ADVANCE = Notifications.advance


def recipients_of_now(replace: Set = setattr) -> None:
    """Take the offsets away between which relations held."""
    replace(relations_over_time, "relations_held", _rows_of_now)


def letting_go(replace: Set = setattr) -> None:
    """Let relations go when the first query has read past them."""
    replace(Notifications, "advance", _advance_and_let_go)


def letting_go_in_a_pipeline() -> None:
    """Do so in the process of a pipeline whose search is faster than its query of streaks."""
    from tocsin.jobs import match_stream, streak_stream  # here, where Spark is anyway

    notify, has_searched = match_stream.notify, threading.Event()

    def advance(self: Notifications, query_name: str, log_offset: int, **how: Any) -> None:  # Any: as it is passed on
        _advance_and_let_go(self, query_name, log_offset, **how)
        if query_name == SEARCH and log_offset:
            has_searched.set()

    def notify_then(*arguments: Any) -> int:  # Any: as it is passed on
        has_searched.wait(_WAIT_S)
        return notify(*arguments)

    setattr(Notifications, "advance", advance)  # noqa: B010  mypy refuses to assign to a method
    setattr(streak_stream, "notify", notify_then)  # noqa: B010  likewise, to a name that it imports


def _rows_of_now(*arguments: Any) -> dict[str, list[Any]]:  # Any: rows of a private type
    connection, current, relation, ids, _ = arguments
    rows_by_key = _HELD(connection, current, relation, ids, NO_END)
    return {one: [row._replace(span=(0, NO_END)) for row in many] for one, many in rows_by_key.items()}


def _advance_and_let_go(self: Notifications, query_name: str, log_offset: int, **how: Any) -> None:  # Any: passed on
    _ADVANCE(self, query_name, log_offset, **how)
    with writing(self._engine) as connection:
        erased_ids = select(tombstone.c.entity_id).where(tombstone.c.log_offset <= log_offset)
        connection.execute(delete(past_relation).where(past_relation.c.entity_id.in_(erased_ids)))
