"""Free maps of alerts are masked, and the texts that receivers answered deliveries with are dropped.

Both may hold secrets, and neither was known to. The lake is not rewritten (``docs/settings.md``).

Revision ID: 0027
Revises: 0026
"""

from __future__ import annotations

from alembic import op

from tocsin.store.sealing import mask_what_was_said

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Mask and drop them."""
    mask_what_was_said(op.get_bind())


def downgrade() -> None:
    """Leave it so: what was in clear by mistake does not come back."""
