"""Masks for free maps of alerts, and removal of the response texts stored with deliveries.

Both may contain secrets that were not recognized as such. The lake is not rewritten (``docs/settings.md``).

Revision ID: 0027
Revises: 0026
"""

from __future__ import annotations

from alembic import op

from tocsin.store.sealing import mask_free_texts

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Mask and drop them."""
    mask_free_texts(op.get_bind())


def downgrade() -> None:
    """Leave it so: what was in clear by mistake does not come back."""
