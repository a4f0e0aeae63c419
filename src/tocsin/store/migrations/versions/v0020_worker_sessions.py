"""Worker sessions, which hold claims, and the length of the wait before a retry.

Revision ID: 0020
Revises: 0019
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

_LEASE_MS = 90_000
"""How long a lease was by default: a worker of before that is still at it is given so long."""


def upgrade() -> None:
    """Make sessions of the leases there are, and waits of the columns that held when each ended."""
    op.create_table(
        "worker_session",
        sa.Column("id", sa.String(80), nullable=False),
        sa.Column("lease_ms", sa.BigInteger, nullable=False),
        sa.Column("beat", sa.BigInteger, nullable=False),
        sa.Column("renewed_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_worker_session"),
    )
    op.execute(
        "INSERT INTO worker_session (id, lease_ms, beat, renewed_at_ms) "  # noqa: S608  our own constant
        f"SELECT DISTINCT lease_owner, {_LEASE_MS}, 0, 0 FROM delivery WHERE lease_owner IS NOT NULL"
    )
    op.execute("ALTER TABLE delivery RENAME COLUMN lease_until_ms TO wait_ms")
    op.execute("UPDATE delivery SET wait_ms = 0 WHERE wait_ms <> 0")
    op.execute(
        "UPDATE delivery SET wait_ms = due_at_ms - updated_at_ms "
        "WHERE status = 'awaitingRetry' AND due_at_ms > updated_at_ms"
    )


def downgrade() -> None:
    op.execute("ALTER TABLE delivery RENAME COLUMN wait_ms TO lease_until_ms")
    op.execute("UPDATE delivery SET lease_until_ms = 0 WHERE lease_until_ms <> 0")
    op.execute("UPDATE delivery SET lease_owner = NULL WHERE lease_owner IS NOT NULL")
    op.drop_table("worker_session")
