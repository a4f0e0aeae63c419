"""Tables of match, notification and read counts per alert: rows of ``store/alerts/firings.py``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, String, Table

from tocsin.store.tables import METADATA

firing = Table(
    "firing",
    METADATA,
    Column("log_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("subscription_id", String(36), primary_key=True),
    Column("told_count", Integer, nullable=False),
    Column("person_count", Integer, nullable=False),
    Column("app_count", Integer, nullable=False),
    Column("opened_count", Integer, nullable=False, default=0),
    # Holds all that is asked, so that a window of all alerts is one walk through the index alone.
    Index("ix_firing", "subscription_id", "log_offset", "told_count", "person_count", "app_count", "opened_count"),
)
"""One row per (event, alert it matched): notifications, those to people, those in the app, those opened; maybe none.

Written with the notifications; ``opened_count`` grows as they are read.
"""
