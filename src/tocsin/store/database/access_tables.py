"""Tables of access revisions and quotas, in addition to ``store/database/tables.py``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, String, Table

from tocsin.store.database.tables import METADATA

access_revision = Table(
    "access_revision",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
)
"""Two counters. 1: changes of policies, roles, teams and people that rules depend on; 2: tokens revoked."""

quota_use = Table(
    "quota_use",
    METADATA,
    Column("user_id", String(36), primary_key=True),
    Column("kind", String(20), primary_key=True),
    Column("hour", BigInteger, primary_key=True, autoincrement=False),
    Column("used", BigInteger, nullable=False),
)
"""One row per person, kind of quota and hour since the epoch: how much of it is used."""
