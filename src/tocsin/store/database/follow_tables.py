"""Table of follows of single columns, in addition to ``follow`` in ``store/database/tables.py``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Table

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
