"""Excerpts of the rows that failed tests: what mails show of them, so that sending reads no more.

Revision ID: 0056_excerpts_of_failed_rows
Revises: 0055_wholes_of_notifications
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import sqlalchemy as sa
from alembic import op

from tocsin.catalogue.observations.failed_rows import kept_excerpt_of

revision = "0056_excerpts_of_failed_rows"
down_revision = "0055_wholes_of_notifications"

_PORTION = 500
_CASES = sa.text(
    "SELECT entity_id FROM attachment WHERE kind = 'failedRowsSample' AND entity_id > :after"
    " ORDER BY entity_id LIMIT :portion"
)
_ROWS = sa.text("SELECT document FROM attachment WHERE kind = 'failedRowsSample' AND entity_id = :id")
_EXCERPT = sa.text("INSERT INTO attachment (entity_id, kind, document) VALUES (:id, 'failedRowsExcerpt', :document)")


def upgrade() -> None:
    connection = op.get_bind()
    for case_id in _cases(connection):
        kept_rows = orjson.loads(connection.execute(_ROWS, {"id": case_id}).scalar_one())  # one at a time: megabytes
        if kept_rows["rows"]:
            excerpt = orjson.dumps(kept_excerpt_of(kept_rows)).decode()
            connection.execute(_EXCERPT, {"id": case_id, "document": excerpt})


def _cases(connection: sa.Connection) -> Iterator[str]:
    """Yield the ids of the test cases whose failed rows are kept."""
    after = ""
    while case_ids := connection.execute(_CASES, {"after": after, "portion": _PORTION}).scalars().all():
        after = case_ids[-1]
        yield from case_ids
