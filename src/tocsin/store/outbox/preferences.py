"""Notification preferences in the store: set by their owner, looked up by key for the recipients of notifications.

Next: ``flow/schedule/preferences.py``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, select

from tocsin.chunks import chunks_of
from tocsin.delivery.channels.table import GATHERINGS
from tocsin.flow.schedule.preferences import NO_PREFERENCES, PREFERRED, Preferred, quiet_period_of
from tocsin.model.notification_draft import NotificationDraft
from tocsin.model.preferences import Preferences
from tocsin.model.subscription import Gathering
from tocsin.store.database.engine import inserting, reading, writing
from tocsin.store.database.people_tables import notification_preference
from tocsin.store.database.tables import change_event
from tocsin.store.outbox.preferred_times import follow, plan_again

_ROW = notification_preference.c


class SqlPreferences:
    """The preferences of one store's people."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, user_id: str) -> Preferences:
        """Return what a person prefers: the default if nothing."""
        with reading(self._engine) as connection:
            text = connection.scalar(select(_ROW.document).where(_ROW.user_id == user_id))
        return Preferences.model_validate_json(text) if text else Preferences()

    def put(self, user_id: str, preferences: Preferences, *, now_ms: int) -> None:
        """Replace what a person prefers; what waits for their time becomes due as they prefer it now."""
        row = {"document": json.dumps(preferences.to_wire()), "updated_at_ms": now_ms}
        with writing(self._engine) as connection:
            insert = inserting(connection, notification_preference).values({"user_id": user_id, **row})
            connection.execute(insert.on_conflict_do_update(index_elements=["user_id"], set_=row))
            quiet = quiet_period_of(preferences)
            due_at_ms = now_ms if quiet is None else quiet.ends_after(now_ms)
            planned = plan_again(connection, user_id, f"{PREFERRED}{now_ms}", due_at_ms=due_at_ms, now_ms=now_ms)
        with writing(self._engine) as connection:  # apart: who writes notifications locks both, in another order
            follow(connection, planned)

    def among(self, drafts: Sequence[NotificationDraft]) -> Preferred:
        """Return the preferences of those who get mails or direct messages."""
        mailed = (draft for draft in drafts if GATHERINGS[draft.channel] is Gathering.SUMMARY)
        people = {draft.recipient_id for draft in mailed if draft.recipient_id}
        if not people:
            return NO_PREFERENCES
        with reading(self._engine) as connection:
            if connection.scalar(select(_ROW.user_id).limit(1)) is None:
                return NO_PREFERENCES
            preference_rows = _preference_rows(connection, people)
            preferences = {row.user_id: _preferences(row) for row in preference_rows}
            asking = {one for one, some in preferences.items() if some.categories}
            events = {draft.event.event_id for draft in drafts if draft.recipient_id in asking}
            versions = {row.user_id: row.updated_at_ms for row in preference_rows}
            return Preferred(preferences, versions, dict(_categories(connection, events)))


def preferences_of(connection: Connection, user_ids: Collection[str]) -> dict[str, Preferences]:
    """Return what those of these people prefer who prefer something."""
    return {row.user_id: _preferences(row) for row in _preference_rows(connection, user_ids)}


def _preferences(row: Any) -> Preferences:  # Any: a row of SQLAlchemy's
    return Preferences.model_validate_json(row.document)


def _preference_rows(connection: Connection, user_ids: Collection[str]) -> list[Any]:  # Any: rows of SQLAlchemy's
    return [
        row
        for chunk in chunks_of(sorted(user_ids))
        for row in connection.execute(select(notification_preference).where(_ROW.user_id.in_(chunk)))
    ]


def _categories(connection: Connection, event_ids: Collection[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the categories of the changes of each event."""
    column = change_event.c
    return [
        (row.id, tuple(json.loads(row.derived).get("changeCategory") or ()))
        for chunk in chunks_of(sorted(event_ids))
        for row in connection.execute(select(column.id, column.derived).where(column.id.in_(chunk)))
    ]
