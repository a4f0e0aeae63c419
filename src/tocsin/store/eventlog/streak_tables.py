"""Index table of events that report a status, so that their readers skip all others."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, String, Table

from tocsin.store.tables import METADATA

status_report = Table(
    "status_report",
    METADATA,
    Column("log_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("entity_id", String(36), nullable=False),
    Index(None, "entity_id", "log_offset"),
)
"""One row per event of ``change_event`` that says how an entity fares (``flow/match/streak.py: report_in``), or that
one which has said so is gone for good."""
