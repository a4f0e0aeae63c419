"""Tables of the store, and the meaning of a row of each, for both stores.

SQLite and PostgreSQL have the same tables; what only PostgreSQL needs is named so. Times are epoch
milliseconds UTC, versions are tenths, documents are JSON text. Migrations create exactly these tables
(a test checks it). Next: one file per aggregate in this package.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TextClause,
    UniqueConstraint,
    text,
)

from tocsin.store.database.inbox_columns import inbox_columns

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# Names sort and range-scan by code point on both stores.
CODE_POINT_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
# SQLite numbers rows by itself only for its own INTEGER type.
SERIAL = BigInteger().with_variant(Integer, "sqlite")
ID = String(36)
_CHANNEL = String(20).with_variant(String(40), "postgresql")
# Messages that may still have to be sent; queries that use the index must contain this text verbatim.
OPEN_MESSAGE = text("status IN ('pending', 'awaitingRetry')")
# The same of messages that a replay sends again, were given up, gather until their time, or that consumers claim.
REPLAYED_MESSAGE = text("status = 'awaitingReplay'")
GIVEN_UP_MESSAGE = text("status IN ('failed', 'retryLimitReached')")
GATHERED_MESSAGE = text("status = 'pending' AND grouping_key IS NOT NULL")
QUEUED_MESSAGE = text("status = 'queued'")
# Destinations that are paused; the same holds.
OPEN_BREAKER = text("opened_at_ms IS NOT NULL")


def _difference() -> tuple[Column[Any], ...]:  # Any: a column's type
    """Return the columns of a ``document`` that may be stored as its difference to a snapshot; it is empty then.

    ``document_bytes`` is its length in bytes. All three are NULL where the document is stored as it is.
    """
    return (
        Column("document_bytes", BigInteger),
        Column("snapshot_id", BigInteger),
        Column("difference", LargeBinary),
    )


def _partial_index(name: str, condition: TextClause, *columns: str) -> Index:
    """Return an index of those rows that meet a condition."""
    return Index(name, *columns, sqlite_where=condition, postgresql_where=condition)


def progress_of_job() -> tuple[Column[Any], ...]:  # Any: a column's type
    """Return the columns in which ``store/eventlog/requested_jobs.py`` keeps how far a job is and what came of it."""
    return (
        Column("state", String(10), nullable=False),
        Column("runner", String(80)),
        Column("seen_at_ms", BigInteger, nullable=False, default=0),
        Column("tries", Integer, nullable=False, default=0),
        Column("done_count", BigInteger, nullable=False, default=0),
        Column("total_count", BigInteger, nullable=False, default=0),
        Column("result", Text),
        Column("reason", Text),
        Column("ended_at_ms", BigInteger),
    )


entity = Table(
    "entity",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("entity_type", String(40), nullable=False),
    Column("fqn", CODE_POINT_TEXT, nullable=False),
    Column("name", Text, nullable=False),
    Column("parent_id", ID),
    Column("version_tenths", Integer, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
    Column("updated_by", Text, nullable=False),
    Column("deleted", Boolean, nullable=False, default=False),
    Column("document", Text, nullable=False),
    Column("updated_by_id", ID),
    Column("curated", Text),
    UniqueConstraint("entity_type", "fqn"),
    Index(None, "entity_type", "deleted", "fqn", "id"),  # pages, filters and totals, without reading any document
    Index(None, "parent_id", "id"),
)
"""One row per entity in its current state, soft-deleted ones included.

``updated_by_id`` is null where the version is older than the column. ``curated`` is a JSON list of the paths of values
that a person wrote last, empty for none; null where they have yet to be worked out from the versions.
"""

entity_version = Table(
    "entity_version",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("version_tenths", Integer, primary_key=True),
    Column("updated_at_ms", BigInteger, nullable=False),
    Column("document", Text, nullable=False),
    *_difference(),
    Column("reason", Text),
    Index(None, "updated_at_ms", "entity_id", "version_tenths"),  # what was written in a window of time
)
"""One row per version an entity ever had, the present one included; kept after a hard delete.

``reason`` is why it was written, as its author says; null where nobody said so.
"""

document_snapshot = Table(
    "document_snapshot",
    METADATA,
    Column("id", SERIAL, primary_key=True, autoincrement=True),
    Column("entity_id", ID, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Index(None, "entity_id", "id"),
)
"""One row per compressed text with which versions and events of an entity are compared; kept as long as they are."""

person = Table(
    "person",
    METADATA,
    Column("user_id", ID, primary_key=True),
    Column("name", Text, nullable=False),
    Column("display_name", Text),
    Column("email", Text),
    Column("is_admin", Boolean, nullable=False, default=False),
    Column("is_bot", Boolean, nullable=False, default=False),
    Column("deleted", Boolean, nullable=False, default=False),
    Index(None, "name"),
    Index(None, "email"),
    Index(None, "is_admin"),
)
"""One row per entity of type user: what recipients are worked out from. ``email`` is lower-case."""

entity_tag = Table(
    "entity_tag",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("tag_fqn", Text, primary_key=True),
    Column("since_offset", BigInteger, nullable=False, default=0, server_default="0"),
    Index(None, "tag_fqn"),
)
"""One row per label that an entity or a member of it carries, since the event at ``since_offset``; 0: not known."""

ownership = Table(
    "ownership",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("owner_id", ID, primary_key=True),
    Column("owner_type", String(10), nullable=False),
    Column("since_offset", BigInteger, nullable=False, default=0, server_default="0"),
    Index(None, "owner_id"),
)
"""One row per (entity, owner), since the event at ``since_offset`` of the log; an owner is a user or a team."""

follow = Table(
    "follow",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("user_id", ID, primary_key=True),
    Column("entity_type", String(40), nullable=False),
    Column("since_offset", BigInteger, nullable=False, default=0, server_default="0"),
    Index(None, "user_id"),
    Index(None, "entity_type"),
)
"""One row per (asset, follower), since the event at ``since_offset`` of the log."""

tombstone = Table(
    "tombstone",
    METADATA,
    Column("log_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("entity_id", ID, nullable=False),
    Column("relation_count", Integer, nullable=False),
    Index(None, "entity_id"),
)
"""One row per hard delete: its event, the entity that is gone, and how many relations it had (see the audit)."""

past_relation = Table(
    "past_relation",
    METADATA,
    Column("until_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("relation", String(10), primary_key=True),
    Column("entity_id", ID, primary_key=True),
    Column("other_id", ID, primary_key=True),
    Column("other_type", String(40), nullable=False),
    Column("other_fqn", Text),
    Column("since_offset", BigInteger, nullable=False, default=0, server_default="0"),
    Index(None, "entity_id", "relation"),
)
"""One row per relation that has ended: it held for the events from ``since_offset`` to ``until_offset`` of the log.

``relation`` is ``owner``, ``follower``, ``downstream``, ``member`` of a team, ``consumer`` of a change request,
``domain``, ``product``, ``label``, or ``above1``, ``above2``, …: the ancestors of an entity before it was moved or
hard-deleted. ``other_fqn`` is the name at the end of a label, an asset downstream or an ancestor, null for ancestors in
rows of earlier releases.
"""

membership = Table(
    "membership",
    METADATA,
    Column("team_id", ID, primary_key=True),
    Column("member_id", ID, primary_key=True),
    Column("member_type", String(10), nullable=False),
    Column("since_offset", BigInteger, nullable=False, default=0, server_default="0"),
    Index(None, "member_id"),
)
"""One row per (team, direct member), since the event at ``since_offset``; a member is a user or another team."""

lineage_edge = Table(
    "lineage_edge",
    METADATA,
    Column("from_id", ID, primary_key=True),
    Column("to_id", ID, primary_key=True),
    Column("from_type", String(40), nullable=False),
    Column("to_type", String(40), nullable=False),
    Column("details", Text, nullable=False, default="{}"),
    Column("since_offset", BigInteger, nullable=False, default=0, server_default="0"),
    Index(None, "to_id"),
)
"""One row per edge: data flows from ``from_id`` to ``to_id``."""

lineage_carrier = Table(
    "lineage_carrier",
    METADATA,
    Column("from_id", ID, primary_key=True),
    Column("to_id", ID, primary_key=True),
    Column("carrier_id", ID, nullable=False),
    Index(None, "carrier_id"),
)
"""One row per edge whose details name a pipeline: ``carrier_id`` moves the data of that edge."""

credential = Table(
    "credential",
    METADATA,
    Column("user_id", ID, primary_key=True),
    Column("password_hash", Text, nullable=False),
)
"""One row per person who may log in."""

server_secret = Table(
    "server_secret",
    METADATA,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)
"""Keys made at first start and shared by all servers, such as the one that signs tokens."""

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
    Column("user_id", ID, primary_key=True),
    Column("kind", String(20), primary_key=True),
    Column("hour", BigInteger, primary_key=True, autoincrement=False),
    Column("used", BigInteger, nullable=False),
)
"""One row per person, kind of quota and hour since the epoch: how much of it is used."""

change_event = Table(
    "change_event",
    METADATA,
    Column("log_offset", SERIAL, primary_key=True, autoincrement=True),
    Column("id", ID, nullable=False, unique=True),
    Column("event_type", String(40), nullable=False),
    Column("entity_type", String(40), nullable=False),
    Column("entity_id", ID, nullable=False),
    Column("entity_fqn", CODE_POINT_TEXT),
    Column("user_name", Text),
    Column("timestamp_ms", BigInteger, nullable=False),
    Column("document", Text, nullable=False),
    Column("derived", Text, nullable=False),
    *_difference(),
    Column("reason", Text),
    Index(None, "entity_id", "log_offset"),
    Index(None, "entity_type", "log_offset"),
    Index(None, "user_name", "log_offset"),
    Index(None, "timestamp_ms"),
    _partial_index("ix_change_event_reasoned", text("reason IS NOT NULL"), "log_offset"),
    sqlite_autoincrement=True,
)
"""The log: one row per change event, in offset order; ``flow/eventlog/readable.py`` says how far one may read.

``reason`` is why the change was made, as its author says: what is in the document as well, to be searched.
"""

pipeline_progress = Table(
    "pipeline_progress",
    METADATA,
    Column("query_name", String(80), primary_key=True),
    Column("log_offset", BigInteger, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
)
"""Progress of each streaming query: every event up to ``log_offset`` is processed."""

destination_secret = Table(
    "destination_secret",
    METADATA,
    Column("subscription_id", ID, primary_key=True),
    Column("destination_id", ID, primary_key=True),
    Column("document", Text, nullable=False),
    Column("bot", String(32)),
    Index(None, "bot"),
)
"""What a destination must not show: its secret key and headers. Never part of a version or an event.

``bot`` tells the bot of the destination from others (``model/subscription.bot_key_of``).
"""

destination_status = Table(
    "destination_status",
    METADATA,
    Column("subscription_id", ID, primary_key=True),
    Column("destination_id", ID, primary_key=True),
    Column("status", String(20), nullable=False),
    Column("last_successful_at_ms", BigInteger),
    Column("last_failed_at_ms", BigInteger),
    Column("last_failed_status_code", Integer),
    Column("last_failed_reason", Text),
    Column("next_attempt_ms", BigInteger),
    Column("delivered_count", BigInteger, nullable=False, default=0),
    Column("failed_count", BigInteger, nullable=False, default=0),
    Column("timestamp_ms", BigInteger, nullable=False),
    Column("configured_at_ms", BigInteger),
    Column("recent_attempts", Text),
    Column("opened_at_ms", BigInteger),
    Column("probe_at_ms", BigInteger),
    Column("failing_since_ms", BigInteger),
    Column("failing_count", Integer, nullable=False, default=0, server_default="0"),
    Column("failing_percent", Integer, nullable=False, default=0, server_default="0"),
    Column("reported_percent", Integer, nullable=False, default=0, server_default="0"),
    Column("stopped_at_ms", BigInteger),
    _partial_index("ix_destination_status_open", OPEN_BREAKER, "destination_id"),
    Index("ix_destination_status_destination_id", "destination_id"),
)
"""One row per destination: how it fares, and its breaker (``flow/track/breaker.py``).

``recent_attempts`` holds, as JSON, how many attempts ended of late and how many failed; ``opened_at_ms`` is set while
the destination is paused, ``probe_at_ms`` is when one of its messages may be tried then. ``failing_since_ms`` and what
follows are its streak of failures (``flow/track/failing.py``); ``stopped_at_ms`` is set once nothing is sent there.
"""

notification = Table(
    "notification",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("event_id", ID, nullable=False),
    Column("log_offset", BigInteger, nullable=False),
    Column("channel", _CHANNEL, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("recipient_id", ID),
    Column("reasons", Text, nullable=False),
    Column("due_at_ms", BigInteger, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("read_at_ms", BigInteger),
    Column("message_id", ID),
    Column("whole_id", ID),
    Column("preferred", Text),
    *inbox_columns(),
    _partial_index("ix_notification_sent", text("message_id IS NOT NULL"), "message_id"),
)
"""One row per (event, recipient, channel), with its reasons; ``message_id`` names what carries it, unless in-app.

``whole_id`` is the event of its event's whole, ``preferred`` the ``FrequencyChoice`` that gave its time; null for none.
"""

notification_ids = Table(
    "notification_ids",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("hashed_through", BigInteger, nullable=False),
)
"""One row: the offset through which notifications have ids from before those in the order of the log."""

paced_time = Table(
    "paced_time",
    METADATA,
    Column("channel", _CHANNEL, primary_key=True),
    Column("recipient", Text, primary_key=True),
    Column("grouping_key", Text, primary_key=True),
    Column("due_at_ms", BigInteger, nullable=False),
    Index(None, "due_at_ms"),
)
"""One row per group of a paced alert: its last turn that was not needed, as another alert told the recipient first."""

message = Table(
    "message",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("channel", _CHANNEL, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("recipient_id", ID),
    Column("target", Text, nullable=False),
    Column("subscription_id", ID, nullable=False),
    Column("destination_id", ID, nullable=False),
    Column("grouping_key", Text),
    Column("status", String(20), nullable=False),
    Column("attempt_count", Integer, nullable=False, default=0),
    Column("due_at_ms", BigInteger, nullable=False),
    Column("wait_ms", BigInteger, nullable=False, default=0),
    Column("lease_owner", String(80)),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
    Column("replay_id", ID),
    Column("attempts_before", Integer, nullable=False, default=0, server_default="0"),
    _partial_index("ix_message_replayed", REPLAYED_MESSAGE, "destination_id", "due_at_ms"),
    _partial_index("ix_message_replay", text("replay_id IS NOT NULL"), "replay_id", "id"),
    _partial_index("ix_message_given_up", GIVEN_UP_MESSAGE, "updated_at_ms", "id"),
    _partial_index("ix_message_given_up_of_alert", GIVEN_UP_MESSAGE, "subscription_id", "updated_at_ms", "id"),
    _partial_index("ix_message_open", OPEN_MESSAGE, "destination_id", "due_at_ms"),
    _partial_index("ix_message_queued", QUEUED_MESSAGE, "subscription_id", "due_at_ms"),
    _partial_index("ix_message_group", text("grouping_key IS NOT NULL"), "recipient", "grouping_key", "due_at_ms"),
    _partial_index("ix_message_gathered", GATHERED_MESSAGE, "due_at_ms", "id"),
)
"""One row per message: one or many notifications that go out together, to one recipient, at a due time.

It is claimed under the destination that it names. ``grouping_key`` says which notifications belong together; null where
nothing is gathered. ``lease_owner`` names the session of the worker, or the lease of the consumer, that claimed it;
``wait_ms`` is the length of the wait until ``due_at_ms``. ``replay_id`` names the replay that sends it again,
``attempts_before`` counts the attempts before its last replay.
"""

replay = Table(
    "replay",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("requested_by", ID, nullable=False),
    Column("requested_at_ms", BigInteger, nullable=False),
    Column("selection", Text, nullable=False),
    Column("state", String(12), nullable=False),
    Column("total_count", BigInteger, nullable=False, default=0),
    Column("delivered_count", BigInteger, nullable=False, default=0),
    Column("failed_count", BigInteger, nullable=False, default=0),
    Column("taken_back_count", BigInteger, nullable=False, default=0),
    Column("after_ms", BigInteger),
    Column("after_id", ID),
    Column("ended_at_ms", BigInteger),
    Index(None, "requested_at_ms"),
    _partial_index("ix_replay_under_way", text("ended_at_ms IS NULL"), "requested_by"),
)
"""One row per replay: which messages it sends again, and what became of them.

While it ``collects`` its messages, ``after_ms`` and ``after_id`` are the last that it has looked at. ``ended_at_ms`` is
set once nothing is left to collect, to send or to take back.
"""

worker_session = Table(
    "worker_session",
    METADATA,
    Column("id", String(80), primary_key=True),
    Column("lease_ms", BigInteger, nullable=False),
    Column("beat", BigInteger, nullable=False),
    Column("renewed_at_ms", BigInteger, nullable=False),
)
"""One row per working worker: what it has claimed is its as long as the row is here (``store/outbox/sessions.py``)."""

attempt = Table(
    "attempt",
    METADATA,
    Column("message_id", ID, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("started_at_ms", BigInteger, nullable=False),
    Column("duration_ms", Integer, nullable=False),
    Column("outcome", String(20), nullable=False),
    Column("reason", String(40), nullable=False),
    Column("status_code", Integer),
    Column("detail", Text, nullable=False, default=""),
    Column("dropped", Text),
    Column("template_error", Text, nullable=False, default="", server_default=""),
    Column("remote_id", Text),
)
"""One row per try at a message; ``dropped`` holds, as JSON, the reasons that it left out and why.

``template_error`` says why no template worded it, where one should have; ``remote_id`` is what the receiver calls it.
"""
