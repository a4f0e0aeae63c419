"""Tables of threads, posts, participants and task numbers.

Revision ID: 0005
Revises: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ID = sa.String(36)
_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_INDEXES = {
    "thread": (
        ("updated_at_ms", "id"),
        ("kind", "task_status", "updated_at_ms"),
        ("about_id", "updated_at_ms"),
        ("created_by_id", "updated_at_ms"),
        ("kind", "end_ms"),
    ),
    "thread_post": (("thread_id", "posted_at_ms", "id"),),
    "thread_part": (("principal_id", "part"),),
}


def upgrade() -> None:
    _create_threads()
    _create_posts_and_parts()
    op.create_table(
        "task_number",
        sa.Column("number", _SERIAL, autoincrement=True, nullable=False),
        sa.Column("thread_id", _ID, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_task_number"),
        sa.UniqueConstraint("thread_id", name="uq_task_number_thread_id"),
        sqlite_autoincrement=True,
    )
    for table, indexes in _INDEXES.items():
        for columns in indexes:
            op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))


def _create_threads() -> None:
    op.create_table(
        "thread",
        sa.Column("id", _ID, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("about_id", _ID, nullable=False),
        sa.Column("about_type", sa.String(40), nullable=False),
        sa.Column("steps", sa.Text, nullable=False),
        sa.Column("created_by_id", _ID, nullable=False),
        sa.Column("task_status", sa.String(10)),
        sa.Column("start_ms", sa.BigInteger),
        sa.Column("end_ms", sa.BigInteger),
        sa.Column("resolved", sa.Boolean, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_thread"),
    )


def _create_posts_and_parts() -> None:
    op.create_table(
        "thread_post",
        sa.Column("id", _ID, nullable=False),
        sa.Column("thread_id", _ID, nullable=False),
        sa.Column("posted_at_ms", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_thread_post"),
    )
    op.create_table(
        "thread_part",
        sa.Column("thread_id", _ID, nullable=False),
        sa.Column("part", sa.String(10), nullable=False),
        sa.Column("principal_id", _ID, nullable=False),
        sa.Column("place", _ID, nullable=False),
        sa.Column("principal_type", sa.String(10), nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "part", "principal_id", "place", name="pk_thread_part"),
    )
