"""Editors of alerts by id: who created an alert, and who changed it or its secrets.

A name can be given to somebody else later; an id cannot. Next: ``store/alerts/event_subjects.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, insert, select

from tocsin.model.entity import FIRST_VERSION
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Stored
from tocsin.store.alerts.tables import alert_editor
from tocsin.store.chunks import chunked

_ALERT = "eventsubscription"
_ROW = alert_editor.c


def note(connection: Connection, versions: Sequence[Stored]) -> None:
    """Record who made these new versions, as far as they are of alerts."""
    for one in versions:
        if one.entity_type == _ALERT and one.updated_by_id is not None:
            add(connection, one.id, one.updated_by_id, is_creator=one.version == FIRST_VERSION)


def add(connection: Connection, alert_id: str, user_id: str, *, is_creator: bool = False) -> None:
    """Record an editor of an alert, once."""
    known = select(_ROW.user_id).where(_ROW.subscription_id == alert_id, _ROW.user_id == user_id)
    if connection.execute(known).first() is None:
        row = {"subscription_id": alert_id, "user_id": user_id, "is_creator": is_creator}
        connection.execute(insert(alert_editor), row)


def creators(connection: Connection, alert_ids: Collection[str]) -> dict[str, str]:
    """Return who created each of these alerts, by its id; Tocsin's own have no entry."""
    found: dict[str, str] = {}
    for some in chunked(sorted(alert_ids)):
        query = select(_ROW.subscription_id, _ROW.user_id).where(_ROW.subscription_id.in_(some), _ROW.is_creator)
        found |= {row.subscription_id: row.user_id for row in connection.execute(query) if row.user_id != SYSTEM.id}
    return found


def editors(connection: Connection, alert_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the creator and the editors of each of these alerts, by its id; of Tocsin's own nobody."""
    found: dict[str, set[str]] = defaultdict(set)
    for some in chunked(sorted(alert_ids)):
        query = select(_ROW.subscription_id, _ROW.user_id).where(_ROW.subscription_id.in_(some))
        for row in connection.execute(query):
            found[row.subscription_id].add(row.user_id)
    return {alert_id: tuple(sorted(people - {SYSTEM.id})) for alert_id, people in found.items()}
