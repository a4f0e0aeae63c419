"""Tables of the lake's segments and of the last runs of scheduled jobs, for both stores.

Next: ``store/eventlog/lake.py`` and ``store/job_runs.py``.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, String, Table

from tocsin.store.tables import METADATA

lake_segment = Table(
    "lake_segment",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("state", String(10), nullable=False),
    Column("after_offset", BigInteger, nullable=False),
    Column("through_offset", BigInteger, nullable=False),
    Column("event_count", BigInteger, nullable=False, default=0),
    Column("first_ms", BigInteger, nullable=False, default=0),
    Column("last_ms", BigInteger, nullable=False, default=0),
    Column("changed_at_ms", BigInteger, nullable=False),
    Index(None, "state", "after_offset"),
)
"""One row per folder of the lake: the events above ``after_offset``, up to and including ``through_offset``.

``staged``: being written, not part of the lake yet. ``kept``: part of it. ``retired``: merged into another.
"""

scheduled_job = Table(
    "scheduled_job",
    METADATA,
    Column("name", String(80), primary_key=True),
    Column("seen_at_ms", BigInteger, nullable=False, default=0),
    Column("ran_at_ms", BigInteger, nullable=False, default=0),
)
"""One row per background job of the pipeline: its last heartbeat and its last run."""
