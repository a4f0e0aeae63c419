"""Which tables say who may come in, and when what they may do has changed? Beside ``store/tables.py``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, String, Table, Text

from tocsin.store.tables import METADATA

access_revision = Table(
    "access_revision",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
)
"""One row: how often something about policies, roles, teams or people has changed that rules depend on."""

issued_token = Table(
    "issued_token",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("user_id", String(36), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("name", Text, nullable=False, default=""),
    Column("issued_at_ms", BigInteger, nullable=False),
    Column("expires_at_ms", BigInteger),
    Index(None, "user_id"),
    Index(None, "expires_at_ms"),
)
"""One row per token that works: who it is for and until when. Without its row a token opens nothing."""

login_attempt = Table(
    "login_attempt",
    METADATA,
    Column("key", String(330), primary_key=True),
    Column("failed_count", Integer, nullable=False),
    Column("first_failed_at_ms", BigInteger, nullable=False),
)
"""One row per account and per address that log-ins have failed for of late."""
