"""Tables of mutes: rows of ``store/alerts/mutes.py``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, String, Table, Text

from tocsin.store.tables import METADATA

mute = Table(
    "mute",
    METADATA,
    Column("who", Text, primary_key=True),
    Column("about_id", String(36), primary_key=True),
    Column("channel", String(20), primary_key=True, default=""),
    Column("kind", String(10), nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Column("until_ms", BigInteger, nullable=False),
    Column("unsubscribed", Boolean, nullable=False, default=False),
    Column("since_offset", BigInteger, nullable=False, default=0, server_default="0"),
    Index(None, "about_id"),
)
"""One row per (user or address, alert or asset, channel) that is muted; no ``channel``: all of them."""
