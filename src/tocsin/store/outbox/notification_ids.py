"""Which notifications of a store have ids in the order of the log.

A migration stores it once, and nothing changes it. Next: ``model/notification.py``.
"""

from __future__ import annotations

from sqlalchemy import Engine, select

from tocsin.model.notification import NotificationIds
from tocsin.store.database.engine import fetch_value
from tocsin.store.database.tables import notification_ids


def read_ids(engine: Engine) -> NotificationIds:
    """Return the ids of a store's notifications."""
    return NotificationIds(fetch_value(engine, select(notification_ids.c.hashed_through)) or 0)
