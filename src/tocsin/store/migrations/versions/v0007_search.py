"""Tables of the search index: entries, and their words in FTS5 or in tsvector columns.

Revision ID: 0007
Revises: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

_ON_SQLITE = (
    "CREATE VIRTUAL TABLE search_words USING fts5(name, display_name, path, members, description, member_texts, keys,"
    " tokenize = 'unicode61 remove_diacritics 0', columnsize = 0)",
)
_ON_POSTGRESQL = (
    "CREATE TABLE search_words (number BIGINT NOT NULL, names TSVECTOR NOT NULL, words TSVECTOR NOT NULL,"
    " keys TSVECTOR NOT NULL, CONSTRAINT pk_search_words PRIMARY KEY (number))",
    "CREATE INDEX ix_search_words_words ON search_words USING gin (names, words, keys)",
)


def upgrade() -> None:
    _create_entries()
    op.create_table(
        "search_gone",
        sa.Column("entity_id", sa.String(36), nullable=False),
        sa.Column("log_offset", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("entity_id", name="pk_search_gone"),
    )
    is_sqlite = op.get_context().dialect.name == "sqlite"
    for statement in _ON_SQLITE if is_sqlite else _ON_POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    for table in ("search_words", "search_gone", "search_entry"):
        op.execute(f"DROP TABLE {table}")


def _create_entries() -> None:
    op.create_table(
        "search_entry",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("entity_id", sa.String(36), nullable=False),
        sa.Column("log_offset", sa.BigInteger(), nullable=False),
        sa.Column("entity_type", sa.String(40), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("usage_count", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("fqn", _KEY, nullable=False),
        sa.Column("fqn_key", _KEY, nullable=False),
        sa.Column("name_key", _KEY, nullable=False),
        sa.Column("name_words", _KEY, nullable=False),
        sa.Column("display_key", _KEY, nullable=False),
        sa.Column("display_words", _KEY, nullable=False),
        sa.Column("service", _KEY),
        sa.Column("service_type", _KEY),
        sa.Column("tier", _KEY),
        sa.PrimaryKeyConstraint("number", name="pk_search_entry"),
        sa.UniqueConstraint("entity_id", name="uq_search_entry_entity_id"),
    )
    op.create_index("ix_search_entry_entity_type_fqn", "search_entry", ["entity_type", "fqn"])
    op.create_index("ix_search_entry_fqn", "search_entry", ["fqn"])
    op.create_index("ix_search_entry_name_words", "search_entry", ["name_words"])
    op.create_index("ix_search_entry_display_words", "search_entry", ["display_words"])
    op.create_index("ix_search_entry_rank", "search_entry", [sa.text("usage_count DESC"), "fqn"])
