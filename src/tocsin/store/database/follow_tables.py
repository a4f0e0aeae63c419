"""Tables of follows of single columns and of teams, in addition to ``follow`` in ``store/database/tables.py``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, String, Table

from tocsin.store.database.tables import CODE_POINT_TEXT, ID, METADATA

column_follow = Table(
    "column_follow",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("column_path", CODE_POINT_TEXT, primary_key=True),
    Column("user_id", ID, primary_key=True),
    Column("since_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("until_offset", BigInteger, nullable=False),
    Index(None, "user_id"),
)
"""One row per (asset, column, follower) and time of the follow: the events from ``since_offset`` to ``until_offset``.

``column_path`` is the column's FQN below the asset's, which survives a rename of the asset. ``until_offset`` is the
largest number while they follow it, and the event by which the column went where they did until then.
"""

team_follow = Table(
    "team_follow",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("team_id", ID, primary_key=True),
    Column("since_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("until_offset", BigInteger, nullable=False),
    Column("entity_type", String(40), nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Index(None, "team_id"),
    Index(None, "entity_type"),
)
"""One row per (asset, team whose members follow it by default) and time of that, as ``column_follow``."""

follow_refusal = Table(
    "follow_refusal",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("user_id", ID, primary_key=True),
    Column("since_offset", BigInteger, nullable=False),
    Index(None, "user_id"),
)
"""One row per (asset, person who does not follow it although their team does), from ``since_offset`` on."""
