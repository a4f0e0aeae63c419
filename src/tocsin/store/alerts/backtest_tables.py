"""Table of requested backtests, for both stores.

Next: ``store/alerts/backtests.py``.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, String, Table, Text

from tocsin.store.tables import METADATA

backtest = Table(
    "backtest",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("requested_by", String(36), nullable=False),
    Column("requested_at_ms", BigInteger, nullable=False),
    Column("request", Text, nullable=False),
    Column("state", String(10), nullable=False),
    Column("runner", String(80)),
    Column("seen_at_ms", BigInteger, nullable=False, default=0),
    Column("tries", Integer, nullable=False, default=0),
    Column("done_count", BigInteger, nullable=False, default=0),
    Column("total_count", BigInteger, nullable=False, default=0),
    Column("result", Text),
    Column("reason", Text),
    Column("ended_at_ms", BigInteger),
    Index(None, "state", "requested_at_ms"),
    Index(None, "requested_by", "state"),
)
"""One row per backtest: what was asked, how far it is, who runs it and was last seen at it, and what came of it."""
