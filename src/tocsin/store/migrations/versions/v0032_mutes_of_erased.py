"""Mutes and use of quotas of users who were erased: deleted with them from now on.

Revision ID: 0032_mutes_of_erased
Revises: 0031_suite_runs
"""

from __future__ import annotations

from alembic import op

revision = "0032_mutes_of_erased"
down_revision = "0031_suite_runs"

STATEMENTS = (
    "DELETE FROM mute WHERE who NOT LIKE '%@%' AND NOT EXISTS (SELECT 1 FROM entity WHERE entity.id = mute.who)",
    "DELETE FROM quota_use WHERE NOT EXISTS (SELECT 1 FROM entity WHERE entity.id = quota_use.user_id)",
)
"""The mutes of addresses stay: unsubscribing lasts."""


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
