"""Table of match results, for both stores. Next: ``store/alerts/match_results.py``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, String, Table

from tocsin.store.tables import METADATA

match_result = Table(
    "telling",
    METADATA,
    Column("log_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("subscription_id", String(36), primary_key=True),
    Column("told_count", Integer, nullable=False),
    Column("told_at_ms", BigInteger, nullable=False),
    Column("missing_count", Integer, nullable=False, default=0, server_default="0"),
)
"""One row per (event, alert it matched): how many notifications that gave, nobody being 0. Written with them.

``missing_count`` is how many relations of a hard-deleted entity were gone before this was written: 0 in a sound store.
"""
