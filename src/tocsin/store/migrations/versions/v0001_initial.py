"""Initial revision: all tables of release 0.1.0.

Revision ID: 0001_initial
Revises: none
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001_initial"
down_revision = None

_ID = sa.String(36)
_NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_OPEN = sa.text("status IN ('pending', 'awaitingRetry')")
_SEARCH_WORDS = {
    "sqlite": (
        "CREATE VIRTUAL TABLE search_words USING fts5(name, display_name, path, members, description, member_texts,"
        " keys, tokenize = 'unicode61 remove_diacritics 0', columnsize = 0)",
    ),
    "postgresql": (
        "CREATE TABLE search_words (number BIGINT NOT NULL, names TSVECTOR NOT NULL, words TSVECTOR NOT NULL,"
        " keys TSVECTOR NOT NULL, CONSTRAINT pk_search_words PRIMARY KEY (number))",
        "CREATE INDEX ix_search_words_words ON search_words USING gin (names, words, keys)",
    ),
}
_Type = sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]]  # Any: whatever Python type a column holds


def upgrade() -> None:
    _create_entities()
    _create_tombstones()
    _create_people()
    _create_access()
    _create_observations()
    _create_feed()
    _create_search()
    _create_log()
    _create_pipeline()
    _create_alerts()
    _create_destinations()
    _create_deliveries()


def _keys(type_: _Type, *names: str) -> list[sa.Column[Any]]:
    """Return columns of the primary key; the name of the key and of each index follow from the table's."""
    return [sa.Column(name, type_, primary_key=True, autoincrement=False) for name in names]


def _required(type_: _Type, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, type_, nullable=False) for name in names]


def _optional(type_: _Type, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, type_) for name in names]


def _create_entities() -> None:
    op.create_table(
        "entity",
        *_keys(_ID, "id"),
        *_required(sa.String(40), "entity_type"),
        *_required(_NAME, "fqn"),
        *_required(sa.Text, "name"),
        *_optional(_ID, "parent_id"),
        *_required(sa.Integer, "version_tenths"),
        *_required(sa.BigInteger, "updated_at_ms"),
        *_required(sa.Text, "updated_by"),
        *_required(sa.Boolean, "deleted"),
        *_required(sa.Text, "document"),
        sa.UniqueConstraint("entity_type", "fqn"),
        sa.Index(None, "entity_type", "deleted", "fqn", "id"),
        sa.Index(None, "parent_id", "id"),
    )
    op.create_table(
        "entity_version",
        *_keys(_ID, "entity_id"),
        *_keys(sa.Integer, "version_tenths"),
        *_required(sa.BigInteger, "updated_at_ms"),
        *_required(sa.Text, "document"),
        sa.Index(None, "updated_at_ms", "entity_id", "version_tenths"),
    )
    op.create_table("entity_tag", *_keys(_ID, "entity_id"), *_keys(sa.Text, "tag_fqn"), sa.Index(None, "tag_fqn"))
    op.create_table(
        "entity_reference",
        *_keys(_ID, "entity_id"),
        *_keys(sa.String(40), "field"),
        *_keys(_ID, "target_id"),
        sa.Index(None, "target_id"),
    )
    op.create_table(
        "lineage_edge",
        *_keys(_ID, "from_id", "to_id"),
        *_required(sa.String(40), "from_type", "to_type"),
        *_required(sa.Text, "details"),
        sa.Index(None, "to_id"),
    )
    op.create_table(
        "lineage_carrier", *_keys(_ID, "from_id", "to_id"), *_required(_ID, "carrier_id"), sa.Index(None, "carrier_id")
    )


def _create_tombstones() -> None:
    op.create_table(
        "tombstone",
        *_keys(sa.BigInteger, "log_offset"),
        *_required(_ID, "entity_id"),
        *_required(sa.Integer, "relation_count"),
        sa.Index(None, "entity_id"),
    )
    op.create_table(
        "tombstone_relation",
        *_keys(sa.BigInteger, "log_offset"),
        *_keys(sa.String(10), "relation"),
        *_keys(_ID, "other_id"),
        *_required(_ID, "entity_id"),
        *_required(sa.String(40), "other_type"),
        sa.Column("since_offset", sa.BigInteger, nullable=False, server_default="0"),
        sa.Index(None, "entity_id", "relation"),
    )
    op.create_table(
        "tombstone_part",
        *_keys(sa.BigInteger, "log_offset"),
        *_keys(_ID, "thread_id"),
        *_keys(sa.String(10), "part"),
        *_keys(_ID, "principal_id", "place"),
        *_required(sa.String(10), "principal_type"),
        *_required(sa.BigInteger, "at_offset"),
        *_required(_ID, "about_id"),
        sa.Index(None, "thread_id"),
    )


def _create_people() -> None:
    op.create_table(
        "person",
        *_keys(_ID, "user_id"),
        *_required(sa.Text, "name"),
        *_optional(sa.Text, "display_name", "email"),
        *_required(sa.Boolean, "is_admin", "is_bot", "deleted"),
        sa.Index(None, "email"),
        sa.Index(None, "is_admin"),
        sa.Index(None, "name"),
    )
    op.create_table(
        "membership",
        *_keys(_ID, "team_id", "member_id"),
        *_required(sa.String(10), "member_type"),
        sa.Index(None, "member_id"),
    )
    op.create_table(
        "ownership",
        *_keys(_ID, "entity_id", "owner_id"),
        *_required(sa.String(10), "owner_type"),
        sa.Index(None, "owner_id"),
    )
    op.create_table(
        "follow",
        *_keys(_ID, "entity_id", "user_id"),
        *_required(sa.String(40), "entity_type"),
        sa.Column("since_offset", sa.BigInteger, nullable=False, server_default="0"),
        sa.Index(None, "user_id"),
    )
    op.create_table(
        "mute",
        *_keys(sa.Text, "who"),
        *_keys(_ID, "about_id"),
        *_keys(sa.String(20), "channel"),
        *_required(sa.String(10), "kind"),
        *_required(sa.BigInteger, "since_ms", "until_ms"),
        *_required(sa.Boolean, "unsubscribed"),
        sa.Column("since_offset", sa.BigInteger, nullable=False, server_default="0"),
        sa.Index(None, "about_id"),
    )
    op.create_table("credential", *_keys(_ID, "user_id"), *_required(sa.Text, "password_hash"))
    op.create_table("server_secret", *_keys(sa.String(40), "name"), *_required(sa.Text, "value"))


def _create_access() -> None:
    counters = op.create_table("access_revision", *_keys(sa.Integer, "id"), *_required(sa.BigInteger, "revision"))
    op.bulk_insert(counters, [{"id": one, "revision": 1} for one in (1, 2)])
    op.create_table(
        "issued_token",
        *_keys(_ID, "id"),
        *_required(_ID, "user_id"),
        *_required(sa.String(20), "kind"),
        *_required(sa.Text, "name"),
        *_required(sa.BigInteger, "issued_at_ms"),
        *_optional(sa.BigInteger, "expires_at_ms"),
        *_optional(_ID, "parent_id"),
        sa.Index(None, "expires_at_ms"),
        sa.Index(None, "parent_id"),
        sa.Index(None, "user_id"),
    )
    op.create_table(
        "login_attempt",
        *_keys(sa.String(330), "key"),
        *_required(sa.Integer, "attempt_count"),
        *_required(sa.BigInteger, "last_at_ms", "next_at_ms"),
        sa.Index(None, "last_at_ms"),
    )
    op.create_table(
        "login_source", *_keys(_ID, "user_id"), *_keys(sa.String(64), "source"), *_required(sa.BigInteger, "last_at_ms")
    )
    op.create_table(
        "openid_identity",
        *_keys(sa.String(500), "issuer"),
        *_keys(sa.String(255), "subject"),
        *_required(_ID, "user_id"),
        sa.Index(None, "user_id"),
    )
    op.create_table(
        "quota_use",
        *_keys(_ID, "user_id"),
        *_keys(sa.String(20), "kind"),
        *_keys(sa.BigInteger, "hour"),
        *_required(sa.BigInteger, "used"),
    )


def _create_observations() -> None:
    op.create_table(
        "series",
        *_keys(_ID, "entity_id"),
        *_keys(sa.String(40), "kind"),
        *_keys(_NAME, "part"),
        *_keys(sa.BigInteger, "timestamp_ms"),
        *_optional(sa.String(40), "status"),
        *_required(sa.Text, "document"),
        sa.Index(None, "entity_id", "kind", "timestamp_ms"),
    )
    op.create_table(
        "attachment", *_keys(_ID, "entity_id"), *_keys(sa.String(40), "kind"), *_required(sa.Text, "document")
    )
    op.create_table(
        "incident_status",
        *_keys(_ID, "id"),
        *_required(_ID, "state_id", "test_case_id", "tested_id"),
        *_required(sa.BigInteger, "timestamp_ms"),
        *_required(sa.String(20), "status"),
        *_optional(_ID, "assignee_id"),
        *_required(sa.Boolean, "latest"),
        *_required(sa.Text, "document"),
        sa.Index(None, "state_id"),
        sa.Index(None, "test_case_id", "timestamp_ms"),
        sa.Index(None, "timestamp_ms"),
    )
    op.create_table(
        "suite_member",
        *_keys(_ID, "suite_id", "test_case_id"),
        *_required(sa.Boolean, "own"),
        sa.Index(None, "test_case_id"),
    )
    op.create_table(
        "entity_usage",
        *_keys(_ID, "entity_id"),
        *_keys(sa.Integer, "day"),
        *_required(sa.String(40), "entity_type"),
        *_required(sa.BigInteger, "count"),
        *_required(sa.Float, "daily_rank", "weekly_rank", "monthly_rank"),
        sa.Index(None, "entity_type", "day"),
    )


def _create_feed() -> None:
    op.create_table(
        "thread",
        *_keys(_ID, "id"),
        *_required(sa.String(20), "kind"),
        *_required(_ID, "about_id"),
        *_required(sa.String(40), "about_type"),
        *_required(sa.Text, "steps"),
        *_required(_ID, "created_by_id"),
        *_optional(sa.String(10), "task_status"),
        *_optional(sa.BigInteger, "start_ms", "end_ms"),
        *_required(sa.Boolean, "resolved"),
        *_required(sa.BigInteger, "updated_at_ms"),
        *_required(sa.Text, "document"),
        sa.Index(None, "about_id", "updated_at_ms"),
        sa.Index(None, "created_by_id", "updated_at_ms"),
        sa.Index(None, "kind", "end_ms"),
        sa.Index(None, "kind", "task_status", "updated_at_ms"),
        sa.Index(None, "updated_at_ms", "id"),
    )
    op.create_table(
        "thread_post",
        *_keys(_ID, "id"),
        *_required(_ID, "thread_id"),
        *_required(sa.BigInteger, "posted_at_ms"),
        *_required(sa.Text, "document"),
        sa.Index(None, "thread_id", "posted_at_ms", "id"),
    )
    op.create_table(
        "thread_part",
        *_keys(_ID, "thread_id"),
        *_keys(sa.String(10), "part"),
        *_keys(_ID, "principal_id", "place"),
        *_required(sa.String(10), "principal_type"),
        sa.Column("at_offset", sa.BigInteger, nullable=False, server_default="0"),
        sa.Index(None, "principal_id", "part"),
    )
    op.create_table(
        "task_number",
        sa.Column("number", _SERIAL, primary_key=True),
        *_required(_ID, "thread_id"),
        sa.UniqueConstraint("thread_id"),
        sqlite_autoincrement=True,
    )


def _create_search() -> None:
    op.create_table(
        "search_entry",
        *_keys(_SERIAL, "number"),
        *_required(_ID, "entity_id"),
        *_required(sa.BigInteger, "log_offset"),
        *_required(sa.String(40), "entity_type"),
        *_required(sa.Boolean, "deleted"),
        *_required(sa.BigInteger, "usage_count", "updated_at_ms"),
        *_required(_NAME, "fqn", "fqn_key", "name_key", "name_words", "display_key", "display_words"),
        *_optional(_NAME, "service", "service_type", "tier"),
        sa.UniqueConstraint("entity_id"),
        sa.Index(None, "display_words"),
        sa.Index(None, "entity_type", "fqn"),
        sa.Index(None, "fqn"),
        sa.Index(None, "name_words"),
        sa.Index("ix_search_entry_rank", sa.text("usage_count DESC"), "fqn"),
    )
    op.create_table("search_gone", *_keys(_ID, "entity_id"), *_required(sa.BigInteger, "log_offset"))
    for statement in _SEARCH_WORDS[op.get_context().dialect.name]:
        op.execute(statement)


def _create_log() -> None:
    op.create_table(
        "change_event",
        sa.Column("log_offset", _SERIAL, primary_key=True),
        *_required(_ID, "id"),
        *_required(sa.String(40), "event_type", "entity_type"),
        *_required(_ID, "entity_id"),
        *_optional(_NAME, "entity_fqn"),
        *_optional(sa.Text, "user_name"),
        *_required(sa.BigInteger, "timestamp_ms"),
        *_required(sa.Text, "document", "derived"),
        sa.UniqueConstraint("id"),
        sa.Index(None, "entity_id", "log_offset"),
        sa.Index(None, "entity_type", "log_offset"),
        sa.Index(None, "timestamp_ms"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "status_report",
        *_keys(sa.BigInteger, "log_offset"),
        *_required(_ID, "entity_id"),
        sa.Index(None, "entity_id", "log_offset"),
    )


def _create_pipeline() -> None:
    op.create_table(
        "pipeline_progress",
        *_keys(sa.String(80), "query_name"),
        *_required(sa.BigInteger, "log_offset", "updated_at_ms"),
    )
    op.create_table(
        "pipeline_wait",
        *_keys(sa.String(80), "query_name"),
        *_required(sa.String(40), "fault"),
        *_required(sa.BigInteger, "since_ms"),
    )
    op.create_table(
        "lake_segment",
        *_keys(_ID, "id"),
        *_required(sa.String(10), "state"),
        *_required(
            sa.BigInteger, "after_offset", "through_offset", "event_count", "first_ms", "last_ms", "changed_at_ms"
        ),
        sa.Index(None, "state", "after_offset"),
    )
    op.create_table(
        "scheduled_job", *_keys(sa.String(80), "name"), *_required(sa.BigInteger, "seen_at_ms", "ran_at_ms")
    )


def _create_alerts() -> None:
    op.create_table(
        "telling",
        *_keys(sa.BigInteger, "log_offset"),
        *_keys(_ID, "subscription_id"),
        *_required(sa.Integer, "told_count"),
        *_required(sa.BigInteger, "told_at_ms"),
        sa.Column("missing_count", sa.Integer, nullable=False, server_default="0"),
    )
    op.create_table(
        "firing",
        *_keys(sa.BigInteger, "log_offset"),
        *_keys(_ID, "subscription_id"),
        *_required(sa.Integer, "told_count", "person_count", "app_count", "opened_count"),
        sa.Index(
            "ix_firing", "subscription_id", "log_offset", "told_count", "person_count", "app_count", "opened_count"
        ),
    )
    op.create_table(
        "backtest",
        *_keys(_ID, "id"),
        *_required(_ID, "requested_by"),
        *_required(sa.BigInteger, "requested_at_ms"),
        *_required(sa.Text, "request"),
        *_required(sa.String(10), "state"),
        *_optional(sa.String(80), "runner"),
        *_required(sa.BigInteger, "seen_at_ms"),
        *_required(sa.Integer, "tries"),
        *_required(sa.BigInteger, "done_count", "total_count"),
        *_optional(sa.Text, "result", "reason"),
        *_optional(sa.BigInteger, "ended_at_ms"),
        sa.Index(None, "requested_by", "state"),
        sa.Index(None, "state", "requested_at_ms"),
    )


def _create_destinations() -> None:
    op.create_table(
        "destination_secret", *_keys(_ID, "subscription_id", "destination_id"), *_required(sa.Text, "document")
    )
    op.create_table(
        "destination_status",
        *_keys(_ID, "subscription_id", "destination_id"),
        *_required(sa.String(20), "status"),
        *_optional(sa.BigInteger, "last_successful_at_ms", "last_failed_at_ms"),
        *_optional(sa.Integer, "last_failed_status_code"),
        *_optional(sa.Text, "last_failed_reason"),
        *_optional(sa.BigInteger, "next_attempt_ms"),
        *_required(sa.BigInteger, "delivered_count", "failed_count", "timestamp_ms"),
        *_optional(sa.BigInteger, "configured_at_ms"),
    )
    op.create_table(
        "worker_session", *_keys(sa.String(80), "id"), *_required(sa.BigInteger, "lease_ms", "beat", "renewed_at_ms")
    )


def _create_deliveries() -> None:
    op.create_table(
        "notification",
        *_keys(_ID, "id"),
        *_required(_ID, "event_id"),
        *_required(sa.BigInteger, "log_offset"),
        *_required(sa.String(20), "channel"),
        *_required(sa.Text, "recipient"),
        *_optional(_ID, "recipient_id"),
        *_required(sa.Text, "reasons"),
        *_required(sa.BigInteger, "due_at_ms", "created_at_ms"),
        *_optional(sa.BigInteger, "read_at_ms"),
        sa.Index(None, "log_offset"),
        sa.Index(None, "recipient_id", "channel", "log_offset"),
    )
    op.create_table(
        "delivery",
        *_keys(_ID, "id"),
        *_required(_ID, "notification_id", "event_id"),
        *_required(sa.BigInteger, "log_offset"),
        *_required(_ID, "subscription_id", "destination_id"),
        *_required(sa.String(20), "channel"),
        *_required(sa.Text, "target"),
        *_required(sa.String(20), "status"),
        *_required(sa.Integer, "attempt_count"),
        *_required(sa.BigInteger, "due_at_ms"),
        *_optional(sa.String(80), "lease_owner"),
        *_required(sa.BigInteger, "wait_ms", "created_at_ms", "updated_at_ms"),
        sa.Index(None, "notification_id"),
        sa.Index("ix_delivery_open", "destination_id", "due_at_ms", sqlite_where=_OPEN, postgresql_where=_OPEN),
        sa.Index(None, "status", "due_at_ms"),
        sa.Index(None, "subscription_id", "destination_id", "log_offset"),
    )
    op.create_table(
        "attempt",
        *_keys(_ID, "delivery_id"),
        *_keys(sa.Integer, "number"),
        *_required(sa.BigInteger, "started_at_ms"),
        *_required(sa.Integer, "duration_ms"),
        *_required(sa.String(20), "outcome"),
        *_required(sa.String(40), "reason"),
        *_optional(sa.Integer, "status_code"),
        *_required(sa.Text, "detail"),
    )
