"""Tables of retention, in addition to ``store/database/tables.py``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, String, Table, Text

from tocsin.store.database.tables import ID, METADATA

legal_hold = Table(
    "legal_hold",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("reason", Text, nullable=False),
    Column("set_by", Text, nullable=False),
    Column("set_at_ms", BigInteger, nullable=False),
    Column("entity_id", ID),
    Column("user_name", Text),
    Column("since_ms", BigInteger),
    Column("until_ms", BigInteger),
    Column("lifted_by", Text),
    Column("lifted_at_ms", BigInteger),
    Index(None, "set_at_ms"),
)
"""One row per legal hold, lifted ones included (``model/retention.LegalHold``)."""

retention_state = Table(
    "retention_state",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("trusted_ms", BigInteger),
    Column("removed_through", BigInteger, nullable=False, default=0, server_default="0"),
    Column("removed_until_ms", BigInteger, nullable=False, default=0, server_default="0"),
    Column("runner", ID),
    Column("seen_at_ms", BigInteger, nullable=False, default=0, server_default="0"),
    Column("last_run", Text),
)
"""One row: how far retention has got.

``trusted_ms`` is the time that the last run measured ages by, ``removed_through`` the highest offset and
``removed_until_ms`` the latest time of an event that was removed from the log. ``runner`` is the run that is under way,
last seen at ``seen_at_ms``; ``last_run`` is the result of the last one, as JSON.
"""

removed_events = Table(
    "removed_events",
    METADATA,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("event_type", String(40), primary_key=True),
    Column("entity_type", String(40), primary_key=True),
    Column("log_count", BigInteger, nullable=False, default=0, server_default="0"),
    Column("lake_count", BigInteger, nullable=False, default=0, server_default="0"),
)
"""One row per day since the epoch (UTC), event type and entity type: how many events of that day were removed."""

deleted_entity = Table(
    "deleted_entity",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("entity_type", String(40), nullable=False),
    Column("deleted_at_ms", BigInteger, nullable=False),
    Column("document", Text, nullable=False),
)
"""One row per hard-deleted entity whose deletion event was removed: its last state.

It says who may view what events, versions and the lake say of it
(``docs/decisions/0122-the-last-state-outlives-the-deletion-event.md``).
"""

passed_reader = Table(
    "passed_reader",
    METADATA,
    Column("name", String(80), primary_key=True),
    Column("told_at_ms", BigInteger, nullable=False),
    Column("passed_count", BigInteger, nullable=False, default=0, server_default="0"),
    Column("passed_through", BigInteger, nullable=False, default=0, server_default="0"),
)
"""One row per reader of the log that is further behind than it may be: when it was told, and what it has missed.

``told_at_ms`` is 0 for one that has caught up since.
"""
