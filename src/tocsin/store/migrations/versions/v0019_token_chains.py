"""Token chains, reserved log-in attempts, known sources and identities of OpenID Connect.

Revision ID: 0019
Revises: 0018
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("issued_token", sa.Column("parent_id", sa.String(36)))
    op.create_index("ix_issued_token_parent_id", "issued_token", ["parent_id"])
    op.execute("DELETE FROM issued_token WHERE user_id NOT IN (SELECT user_id FROM person WHERE NOT deleted)")
    op.execute(
        "DELETE FROM issued_token WHERE kind = 'personal' AND user_id IN (SELECT user_id FROM person WHERE is_bot)"
    )
    op.execute("INSERT INTO access_revision (id, revision) VALUES (2, 1)")
    op.drop_table("login_attempt")
    op.create_table(
        "login_attempt",
        sa.Column("key", sa.String(330), nullable=False),
        sa.Column("attempt_count", sa.Integer, nullable=False),
        sa.Column("last_at_ms", sa.BigInteger, nullable=False),
        sa.Column("next_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_login_attempt"),
    )
    op.create_index("ix_login_attempt_last_at_ms", "login_attempt", ["last_at_ms"])
    op.create_table(
        "login_source",
        sa.Column("user_id", sa.String(36), nullable=False),
        sa.Column("source", sa.String(64), nullable=False),
        sa.Column("last_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "source", name="pk_login_source"),
    )
    op.create_table(
        "openid_identity",
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint("issuer", "subject", name="pk_openid_identity"),
    )
    op.create_index("ix_openid_identity_user_id", "openid_identity", ["user_id"])


def downgrade() -> None:
    op.drop_table("openid_identity")
    op.drop_table("login_source")
    op.drop_table("login_attempt")
    op.create_table(
        "login_attempt",
        sa.Column("key", sa.String(330), nullable=False),
        sa.Column("failed_count", sa.Integer, nullable=False),
        sa.Column("first_failed_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_login_attempt"),
    )
    op.execute("DELETE FROM access_revision WHERE id = 2")
    op.drop_index("ix_issued_token_parent_id", "issued_token")
    op.drop_column("issued_token", "parent_id")
