"""Initial revision: every table of the first release.

Revision ID: 0001
Revises: none
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sa.String(36)
_FQN = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _create_entities()
    _create_people()
    _create_partings()
    _create_reports()
    _create_log()
    _create_destinations()
    _create_deliveries()


def downgrade() -> None:
    for table in (
        "attempt",
        "delivery",
        "notification",
        "destination_status",
        "destination_secret",
        "pipeline_progress",
        "outbox",
        "change_event",
        "pipeline_run",
        "test_case_result",
        "lineage_edge",
        "server_secret",
        "credential",
        "follow",
        "ownership",
        "parting",
        "membership",
        "person",
        "entity_tag",
        "entity_version",
        "entity",
    ):
        op.drop_table(table)


def _create_entities() -> None:
    op.create_table(
        "entity",
        sa.Column("id", _ID, nullable=False),
        sa.Column("entity_type", sa.String(40), nullable=False),
        sa.Column("fqn", _FQN, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("parent_id", _ID),
        sa.Column("version_tenths", sa.Integer, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_by", sa.Text, nullable=False),
        sa.Column("deleted", sa.Boolean, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_entity"),
        sa.UniqueConstraint("entity_type", "fqn", name="uq_entity_entity_type_fqn"),
    )
    op.create_index("ix_entity_parent_id", "entity", ["parent_id"])
    op.create_table(
        "entity_version",
        sa.Column("entity_id", _ID, nullable=False),
        sa.Column("version_tenths", sa.Integer, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("entity_id", "version_tenths", name="pk_entity_version"),
    )
    op.create_table(
        "entity_tag",
        sa.Column("entity_id", _ID, nullable=False),
        sa.Column("tag_fqn", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("entity_id", "tag_fqn", name="pk_entity_tag"),
    )
    op.create_index("ix_entity_tag_tag_fqn", "entity_tag", ["tag_fqn"])


def _create_people() -> None:
    op.create_table(
        "person",
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("display_name", sa.Text),
        sa.Column("email", sa.Text),
        sa.Column("is_admin", sa.Boolean, nullable=False),
        sa.Column("is_bot", sa.Boolean, nullable=False),
        sa.Column("deleted", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("user_id", name="pk_person"),
    )
    op.create_index("ix_person_is_admin", "person", ["is_admin"])
    op.create_index("ix_person_name", "person", ["name"])
    op.create_table(
        "membership",
        sa.Column("team_id", _ID, nullable=False),
        sa.Column("member_id", _ID, nullable=False),
        sa.Column("member_type", sa.String(10), nullable=False),
        sa.PrimaryKeyConstraint("team_id", "member_id", name="pk_membership"),
    )
    op.create_index("ix_membership_member_id", "membership", ["member_id"])
    op.create_table(
        "ownership",
        sa.Column("entity_id", _ID, nullable=False),
        sa.Column("owner_id", _ID, nullable=False),
        sa.Column("owner_type", sa.String(10), nullable=False),
        sa.PrimaryKeyConstraint("entity_id", "owner_id", name="pk_ownership"),
    )
    op.create_index("ix_ownership_owner_id", "ownership", ["owner_id"])
    op.create_table(
        "follow",
        sa.Column("entity_id", _ID, nullable=False),
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("entity_type", sa.String(40), nullable=False),
        sa.Column("followed_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("entity_id", "user_id", name="pk_follow"),
    )
    op.create_index("ix_follow_user_id", "follow", ["user_id"])
    op.create_table(
        "credential",
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("password_hash", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("user_id", name="pk_credential"),
    )
    op.create_table(
        "server_secret",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_server_secret"),
    )


def _create_partings() -> None:
    op.create_table(
        "parting",
        sa.Column("entity_id", _ID, nullable=False),
        sa.Column("relation", sa.String(10), nullable=False),
        sa.Column("other_id", _ID, nullable=False),
        sa.Column("other_type", sa.String(40), nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("entity_id", "relation", "other_id", name="pk_parting"),
    )


def _create_reports() -> None:
    op.create_table(
        "lineage_edge",
        sa.Column("from_id", _ID, nullable=False),
        sa.Column("to_id", _ID, nullable=False),
        sa.Column("from_type", sa.String(40), nullable=False),
        sa.Column("to_type", sa.String(40), nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("from_id", "to_id", name="pk_lineage_edge"),
    )
    op.create_index("ix_lineage_edge_to_id", "lineage_edge", ["to_id"])
    op.create_table(
        "test_case_result",
        sa.Column("test_case_id", _ID, nullable=False),
        sa.Column("timestamp_ms", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("test_case_id", "timestamp_ms", name="pk_test_case_result"),
    )
    op.create_table(
        "pipeline_run",
        sa.Column("pipeline_id", _ID, nullable=False),
        sa.Column("timestamp_ms", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("pipeline_id", "timestamp_ms", name="pk_pipeline_run"),
    )


def _create_log() -> None:
    op.create_table(
        "change_event",
        sa.Column("log_offset", _SERIAL, autoincrement=True, nullable=False),
        sa.Column("id", _ID, nullable=False),
        sa.Column("event_type", sa.String(40), nullable=False),
        sa.Column("entity_type", sa.String(40), nullable=False),
        sa.Column("entity_id", _ID, nullable=False),
        sa.Column("entity_fqn", _FQN),
        sa.Column("user_name", sa.Text),
        sa.Column("timestamp_ms", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("derived", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("log_offset", name="pk_change_event"),
        sa.UniqueConstraint("id", name="uq_change_event_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_change_event_entity_id_log_offset", "change_event", ["entity_id", "log_offset"])
    op.create_index("ix_change_event_entity_type_log_offset", "change_event", ["entity_type", "log_offset"])
    op.create_index("ix_change_event_timestamp_ms", "change_event", ["timestamp_ms"])
    op.create_table(
        "outbox",
        sa.Column("log_offset", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("event_id", _ID, nullable=False),
        sa.Column("entity_id", _ID, nullable=False),
        sa.PrimaryKeyConstraint("log_offset", name="pk_outbox"),
    )
    op.create_table(
        "pipeline_progress",
        sa.Column("query_name", sa.String(80), nullable=False),
        sa.Column("log_offset", sa.BigInteger, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("query_name", name="pk_pipeline_progress"),
    )


def _create_destinations() -> None:
    op.create_table(
        "destination_secret",
        sa.Column("subscription_id", _ID, nullable=False),
        sa.Column("destination_id", _ID, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("subscription_id", "destination_id", name="pk_destination_secret"),
    )
    op.create_table(
        "destination_status",
        sa.Column("subscription_id", _ID, nullable=False),
        sa.Column("destination_id", _ID, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("last_successful_at_ms", sa.BigInteger),
        sa.Column("last_failed_at_ms", sa.BigInteger),
        sa.Column("last_failed_status_code", sa.Integer),
        sa.Column("last_failed_reason", sa.Text),
        sa.Column("next_attempt_ms", sa.BigInteger),
        sa.Column("delivered_count", sa.BigInteger, nullable=False),
        sa.Column("failed_count", sa.BigInteger, nullable=False),
        sa.Column("timestamp_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("subscription_id", "destination_id", name="pk_destination_status"),
    )


def _create_deliveries() -> None:
    op.create_table(
        "notification",
        sa.Column("id", _ID, nullable=False),
        sa.Column("event_id", _ID, nullable=False),
        sa.Column("log_offset", sa.BigInteger, nullable=False),
        sa.Column("channel", sa.String(20), nullable=False),
        sa.Column("recipient", sa.Text, nullable=False),
        sa.Column("recipient_id", _ID),
        sa.Column("reasons", sa.Text, nullable=False),
        sa.Column("due_at_ms", sa.BigInteger, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.Column("read_at_ms", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_notification"),
    )
    op.create_index("ix_notification_log_offset", "notification", ["log_offset"])
    op.create_index(
        "ix_notification_recipient_id_channel_log_offset", "notification", ["recipient_id", "channel", "log_offset"]
    )
    op.create_table(
        "delivery",
        sa.Column("id", _ID, nullable=False),
        sa.Column("notification_id", _ID, nullable=False),
        sa.Column("event_id", _ID, nullable=False),
        sa.Column("log_offset", sa.BigInteger, nullable=False),
        sa.Column("subscription_id", _ID, nullable=False),
        sa.Column("destination_id", _ID, nullable=False),
        sa.Column("channel", sa.String(20), nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("attempt_count", sa.Integer, nullable=False),
        sa.Column("due_at_ms", sa.BigInteger, nullable=False),
        sa.Column("lease_owner", sa.String(80)),
        sa.Column("lease_until_ms", sa.BigInteger, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_delivery"),
    )
    op.create_index("ix_delivery_notification_id", "delivery", ["notification_id"])
    op.create_index(
        "ix_delivery_open",
        "delivery",
        ["destination_id", "due_at_ms"],
        sqlite_where=sa.text("status IN ('pending', 'awaitingRetry')"),
        postgresql_where=sa.text("status IN ('pending', 'awaitingRetry')"),
    )
    op.create_index("ix_delivery_status_due_at_ms", "delivery", ["status", "due_at_ms"])
    op.create_index(
        "ix_delivery_subscription_id_destination_id_log_offset",
        "delivery",
        ["subscription_id", "destination_id", "log_offset"],
    )
    op.create_table(
        "attempt",
        sa.Column("delivery_id", _ID, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("started_at_ms", sa.BigInteger, nullable=False),
        sa.Column("duration_ms", sa.Integer, nullable=False),
        sa.Column("outcome", sa.String(20), nullable=False),
        sa.Column("reason", sa.String(40), nullable=False),
        sa.Column("status_code", sa.Integer),
        sa.Column("detail", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("delivery_id", "number", name="pk_attempt"),
    )
