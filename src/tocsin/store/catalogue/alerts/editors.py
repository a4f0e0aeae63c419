"""Editors of alerts by id: who created or changed an alert or its secrets since a person last took it over.

A name can be given to another person later; an id cannot. Next: ``flow/resolve/withholding.py``, which asks what they
may view.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, func, select, update

from tocsin.model.alert_editor import AlertEditor, ViewExtent
from tocsin.model.change import EventType
from tocsin.model.entity import FIRST_VERSION
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Stored
from tocsin.store.database.alert_tables import alert_editor
from tocsin.store.database.engine import fetch_rows, insert_into, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import change_event, person

_ALERT = "eventsubscription"
_ROW, _EVENT, _PERSON = alert_editor.c, change_event.c, person.c
_KEYS = (_ROW.subscription_id, _ROW.user_id)


class SqlAlertEditors:
    """The editors of alerts on the connection of a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of(self, alert_id: str) -> list[str]:
        """Return the ids of an alert's editors."""
        return list(editors(self._connection, [alert_id])[alert_id])

    def add(self, alert_id: str, user_id: str, at_ms: int, *, is_creator: bool = False) -> None:
        """Record an editor of an alert; one who is known stays as they are."""
        row = {"subscription_id": alert_id, "user_id": user_id, "is_creator": is_creator, "since_ms": at_ms}
        again = {"is_editor": True, "since_ms": at_ms, "told_view": None}
        insert = insert_into(self._connection, alert_editor).values(row)
        self._connection.execute(
            insert.on_conflict_do_update(index_elements=_KEYS, set_=again, where=_ROW.is_editor.is_(False))
        )

    def replace(self, alert_id: str, user_id: str, at_ms: int) -> None:
        """Make a person the only editor of an alert, from then on."""
        change = update(alert_editor).where(_ROW.subscription_id == alert_id)
        self._connection.execute(change.values(is_editor=False))
        self.add(alert_id, user_id, at_ms)


class StoredAlertEditors:
    """The editors of the alerts of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list_all(self) -> list[AlertEditor]:
        """Return every editor of every alert there was, by alert and id."""
        return self._read()

    def of(self, alert_id: str) -> list[AlertEditor]:
        """Return the editors of an alert, those who have been there longest first."""
        editors = self._read(_ROW.subscription_id == alert_id)
        return sorted(editors, key=lambda one: (one.since_ms, one.user_id))

    def find(self, alert_ids: Collection[str], user_id: str) -> dict[str, AlertEditor]:
        """Return this person as editor of alerts, by the alert's id; no entry where they are none."""
        edited = self._read(_ROW.subscription_id.in_(alert_ids), _ROW.user_id == user_id)
        return {editor.subscription_id: editor for editor in edited}

    def set_told(self, editor: AlertEditor, extent: ViewExtent) -> None:
        """Record of which extent of an editor's view the alert's owners know."""
        key = _ROW.subscription_id == editor.subscription_id, _ROW.user_id == editor.user_id
        with writing(self._engine) as connection:
            connection.execute(update(alert_editor).where(*key).values(told_view=extent.value))

    def _read(self, *conditions: ColumnElement[bool]) -> list[AlertEditor]:
        restored = select(func.max(_EVENT.timestamp_ms)).where(
            _EVENT.entity_id == _ROW.user_id, _EVENT.event_type == EventType.ENTITY_RESTORED.value
        )
        query = select(alert_editor, _PERSON.name, _PERSON.deleted, restored.scalar_subquery().label("restored_ms"))
        query = query.outerjoin(person, _PERSON.user_id == _ROW.user_id)
        query = query.where(_ROW.is_editor, _ROW.user_id != SYSTEM.id, *conditions)
        return [_editor(row) for row in fetch_rows(self._engine, query.order_by(*_KEYS))]


def note_creators(connection: Connection, versions: Sequence[Stored]) -> None:
    """Record who made these first versions, as far as they are of alerts."""
    for version in versions:
        if version.entity_type == _ALERT and version.version == FIRST_VERSION and version.updated_by_id is not None:
            at_ms = version.document["updatedAt"]
            SqlAlertEditors(connection).add(version.id, version.updated_by_id, at_ms, is_creator=True)


def creators(connection: Connection, alert_ids: Collection[str]) -> dict[str, str]:
    """Return who created each of these alerts, by its id; Tocsin's own have no entry."""
    query = select(*_KEYS).where(_ROW.is_creator, _ROW.user_id != SYSTEM.id)
    creator_rows = rows_by_key(connection, query, _ROW.subscription_id, alert_ids)
    return {row.subscription_id: row.user_id for row in creator_rows}


def editors(connection: Connection, alert_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the editors of each of these alerts, by its id; of Tocsin's own nobody, unless a person changed them."""
    editor_ids: dict[str, set[str]] = defaultdict(set)
    query = select(*_KEYS).where(_ROW.is_editor, _ROW.user_id != SYSTEM.id)
    for alert_id, user_id in rows_by_key(connection, query, _ROW.subscription_id, alert_ids):
        editor_ids[alert_id].add(user_id)
    return {alert_id: tuple(sorted(editor_ids[alert_id])) for alert_id in alert_ids}


def _editor(row: Row[*tuple[Any, ...]]) -> AlertEditor:  # Any: a column's value
    return AlertEditor(
        subscription_id=row.subscription_id,
        user_id=row.user_id,
        name=row.name,
        is_deleted=row.deleted is None or bool(row.deleted),
        since_ms=max(row.since_ms, row.restored_ms or 0),
        is_creator=row.is_creator,
        told_extent=None if row.told_view is None else ViewExtent(row.told_view),
    )
