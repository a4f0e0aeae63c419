"""Encryption of secrets stored in clear (in documents, versions and events) and of the server's own keys.

Revision ID: 0021
Revises: 0020
"""

from __future__ import annotations

from alembic import op

from tocsin.store.sealing import seal_all

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Seal them with the key of this installation."""
    seal_all(op.get_bind())


def downgrade() -> None:
    """Leave them sealed: what was in clear by mistake does not come back."""
