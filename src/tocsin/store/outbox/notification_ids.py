"""Which notifications of a store have ids in the order of the log.

A migration stores it once, and nothing changes it. Next: ``model/notification.py``.
"""

from __future__ import annotations

from sqlalchemy import Engine, select

from tocsin.model.notification import NotificationIdScheme
from tocsin.store.database.engine import fetch_value
from tocsin.store.database.tables import notification_ids


def read_id_scheme(engine: Engine) -> NotificationIdScheme:
    """Return how the ids of this store's notifications are made."""
    return NotificationIdScheme(fetch_value(engine, select(notification_ids.c.hashed_through)) or 0)
