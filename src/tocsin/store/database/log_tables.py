"""Tables of the lake, status reports, waits and lags of readers, in addition to ``store/database/tables.py``."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, String, Table, Text

from tocsin.store.database.tables import ID, METADATA

lake_segment = Table(
    "lake_segment",
    METADATA,
    Column("id", ID, primary_key=True),
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

lake_query = Table(
    "lake_query",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("requested_by", ID, nullable=False),
    Column("requested_at_ms", BigInteger, nullable=False),
    Column("request", Text, nullable=False),
    Column("state", String(10), nullable=False),
    Column("asked_at_ms", BigInteger, nullable=False),
    Column("runner", String(80)),
    Column("seen_at_ms", BigInteger, nullable=False, default=0),
    Column("row_count", BigInteger),
    Column("answer", Text),
    Column("reason", Text),
    Column("code", String(40)),
    Column("ended_at_ms", BigInteger),
    Index(None, "state", "requested_at_ms"),
    Index(None, "requested_by", "requested_at_ms"),
    Index(None, "ended_at_ms"),
)
"""One row per query on the lake by the API: who asked what, when, who runs it, and what came of it."""

scheduled_job = Table(
    "scheduled_job",
    METADATA,
    Column("name", String(80), primary_key=True),
    Column("seen_at_ms", BigInteger, nullable=False, default=0),
    Column("ran_at_ms", BigInteger, nullable=False, default=0),
)
"""One row per background job, or job that is done once: its last heartbeat and its last run."""

status_report = Table(
    "status_report",
    METADATA,
    Column("log_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("entity_id", ID, nullable=False),
    Column("verdict", String(40)),
    Column("reported_at_ms", BigInteger),
    Index(None, "entity_id", "log_offset"),
    Index(None, "entity_id", "reported_at_ms"),
)
"""One row per event of ``change_event`` that says how an entity fares (``flow/match/streak.py: report_in``), or that
one which has said so is gone for good.

``verdict`` is that of ``model/status.py``, null for one that is under way; ``reported_at_ms`` the time it is about."""

pipeline_wait = Table(
    "pipeline_wait",
    METADATA,
    Column("query_name", String(80), primary_key=True),
    Column("fault", String(40), nullable=False),
    Column("since_ms", BigInteger, nullable=False),
)
"""The queries that cannot work now."""

ingested_event = Table(
    "ingested_event",
    METADATA,
    Column("key", String(64), primary_key=True),
    Column("entity_key", String(64), nullable=False),
    Column("bot_id", ID, nullable=False),
    Column("source", String(500), nullable=False),
    Column("source_event_id", String(500), nullable=False),
    Column("author", String(256)),
    Column("event_id", ID),
    Column("newest_ms", BigInteger),
    Column("received_at_ms", BigInteger, nullable=False),
    Column("superseded_at_ms", BigInteger),
    Index(None, "entity_key", "superseded_at_ms"),
    Index(None, "superseded_at_ms"),
    Index(None, "event_id"),
)
"""One row per event of another system that was applied, so that it is applied once.

``key`` is a digest of the bot, the source and its event's id, ``entity_key`` one of the bot, the source and the
entity's type and FQN. ``event_id`` is our event that it led to, null for none. ``newest_ms`` is the latest time that an
event of the source about the entity had, until then. Rows that a later event of the same entity has superseded are
removed by age; the last one of each entity stays."""

ingest_outcome = Table(
    "ingest_outcome",
    METADATA,
    Column("state", String(20), primary_key=True),
    Column("reason", String(60), primary_key=True),
    Column("event_count", BigInteger, nullable=False),
)
"""What events of other systems came to; ``reason`` is the code of the error of those that were refused, else empty."""

reader_lag = Table(
    "reader_lag",
    METADATA,
    Column("reader", String(400), primary_key=True),
    Column("event_count", BigInteger, nullable=False),
    Column("measured_at_ms", BigInteger, nullable=False),
    Column("growing_since_ms", BigInteger),
    Column("exceeded_since_ms", BigInteger),
)
"""One row per reader that lags, or did when it was measured last; ``exceeded_since_ms``: an event has said so."""

consumer_groups = Table(
    "consumer_groups",
    METADATA,
    Column("relay_name", String(100), primary_key=True),
    Column("measured_at_ms", BigInteger, nullable=False),
    Column("document", Text, nullable=False),
)
"""One row per relay: the lags of the consumer groups of its topics, as JSON, or why they are unknown."""

consumer = Table(
    "consumer",
    METADATA,
    Column("name", String(60), primary_key=True),
    Column("user_id", ID, nullable=False),
    Column("log_offset", BigInteger, nullable=False),
    Column("registered_at_ms", BigInteger, nullable=False),
    Column("committed_at_ms", BigInteger),
)
"""One row per consumer of the log that is registered (``model/consumer.Consumer``)."""
