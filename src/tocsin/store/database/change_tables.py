"""Tables of change requests: what was announced, who reads it, and what people did."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, String, Table, Text

from tocsin.store.database.tables import ID, METADATA

change_request = Table(
    "change_request",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("number", BigInteger, nullable=False, unique=True),
    Column("entity_id", ID, nullable=False),
    Column("entity_type", String(40), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("column_path", Text),
    Column("new_value", Text),
    Column("due_at_ms", BigInteger, nullable=False),
    Column("why", Text, nullable=False),
    Column("replacement", Text),
    Column("author_id", ID, nullable=False),
    Column("author_name", Text, nullable=False),
    Column("announced_at_ms", BigInteger, nullable=False),
    Column("withdrawn_at_ms", BigInteger),
    Column("updated_at_ms", BigInteger, nullable=False),
    Column("done_at_ms", BigInteger),
    Column("outcome", String(20)),
    Column("remind_every_days", Integer),
    Column("remind_at_ms", BigInteger),
    Index(None, "entity_id", "number"),
    Index(None, "author_id", "number"),
)
"""One row per request. It stays when its asset or author is deleted for good: it says what had been announced."""

change_request_step = Table(
    "change_request_step",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("request_id", ID, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("user_id", ID, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("comment", Text),
    Column("until_ms", BigInteger),
    Column("consumer_id", ID),
    Column("consumer_type", String(40)),
    Column("verdict", String(20)),
    Column("event_id", ID),
    Column("way", String(10)),
    Index(None, "request_id", "at_ms", "id"),
)
"""One row per thing that a person did to a request; an answer is for one consumer."""

change_request_consumer = Table(
    "change_request_consumer",
    METADATA,
    Column("request_id", ID, primary_key=True),
    Column("consumer_id", ID, primary_key=True),
    Column("consumer_type", String(40), nullable=False),
    Column("level", Integer, nullable=False),
    Column("basis", String(10), nullable=False),
    Column("step_id", ID),
    Column("added_at_ms", BigInteger),
    Index(None, "consumer_id"),
)
"""One row per (request, asset that reads what changes or person who follows it), as found when it was announced or
moved, at ``added_at_ms``, null in rows of earlier checkouts; ``step_id`` is its present answer. Deleted with the asset
or person: ``past_relation`` keeps for which events it was there."""
