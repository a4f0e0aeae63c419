"""Extent of what retention has removed from the log.

Next: ``store/upkeep/retention/progress.py``.
"""

from __future__ import annotations

from sqlalchemy import Connection, inspect, select

from tocsin.store.database.retention_tables import retention_state

_STATE = retention_state.c


def removed_through(connection: Connection) -> int:
    """Return the highest offset that retention has removed; 0 if it has removed none.

    A store that has yet to be migrated may be asked as well.
    """
    if not inspect(connection).has_table(retention_state.name):
        return 0
    return int(connection.execute(select(_STATE.removed_through)).scalar_one_or_none() or 0)


def removed_until_ms(connection: Connection) -> int:
    """Return the latest time of an event that retention has removed; 0 if it has removed none."""
    return int(connection.execute(select(_STATE.removed_until_ms)).scalar_one_or_none() or 0)
