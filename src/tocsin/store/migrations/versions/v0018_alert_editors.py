"""Editors of alerts by id instead of by name; who made the present version of an entity.

The change events of an alert say who made each version. One without an id counts for the user of that name, if they
existed at the time; else for nobody, who may see nothing.

Revision ID: 0018_alert_editors
Revises: 0017_preferences
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

from tocsin.store.database.snapshots import Texts

revision = "0018_alert_editors"
down_revision = "0017_preferences"

_ID = sa.String(36)
_PORTION = 500
_NOBODY = "nobody"
_CREATED = "entityCreated"
_EVENTS = sa.text(
    "SELECT log_offset, entity_id, event_type, user_name, timestamp_ms, document, snapshot_id, difference"
    " FROM change_event WHERE entity_type = 'eventsubscription' AND log_offset > :after"
    " AND event_type IN ('entityCreated', 'entityUpdated') ORDER BY log_offset LIMIT :portion"
)
_OF_SECRETS = sa.text(
    "SELECT entity_id, document FROM attachment WHERE kind = 'behind' AND entity_id > :after"
    " ORDER BY entity_id LIMIT :portion"
)
_OF_NAME = sa.text(
    "SELECT p.user_id FROM person p JOIN entity_version v ON v.entity_id = p.user_id"
    " WHERE p.name = :name AND v.version_tenths = 1 AND v.updated_at_ms <= :at_ms"
)
_EDITOR = sa.table("alert_editor", sa.column("subscription_id"), sa.column("user_id"), sa.column("is_creator"))


def upgrade() -> None:
    op.add_column("entity", sa.Column("updated_by_id", _ID))
    op.create_table(
        "alert_editor",
        sa.Column("subscription_id", _ID, primary_key=True),
        sa.Column("user_id", _ID, primary_key=True),
        sa.Column("is_creator", sa.Boolean, nullable=False),
    )
    op.create_index("ix_alert_editor_user_id", "alert_editor", ["user_id"])
    connection = op.get_bind()
    recorded: set[tuple[str, str]] = set()
    for portion in (*_in_events(connection), *_in_attachments(connection)):
        rows = {(alert, user): is_creator for alert, user, is_creator in reversed(portion)}
        new = rows.keys() - recorded
        recorded |= new
        if new:
            values = [
                {"subscription_id": alert, "user_id": user, "is_creator": rows[alert, user]}
                for alert, user in sorted(new)
            ]
            connection.execute(_EDITOR.insert(), values)


def _in_events(connection: sa.Connection) -> Iterator[list[tuple[str, str, bool]]]:
    after, texts = -1, Texts(connection)
    while rows := connection.execute(_EVENTS, {"after": after, "portion": _PORTION}).all():
        after = rows[-1].log_offset
        yield [(row.entity_id, _author(connection, row, texts), row.event_type == _CREATED) for row in rows]


def _author(connection: sa.Connection, row: sa.Row[tuple[object, ...]], texts: Texts) -> str:
    user_id = json.loads(texts.of(row)).get("userId")
    if user_id is None:
        user_id = connection.execute(_OF_NAME, {"name": row.user_name, "at_ms": row.timestamp_ms}).scalar()
    return str(user_id or _NOBODY)


def _in_attachments(connection: sa.Connection) -> Iterator[list[tuple[str, str, bool]]]:
    after = ""
    while rows := connection.execute(_OF_SECRETS, {"after": after, "portion": _PORTION}).all():
        after = rows[-1].entity_id
        yield [(row.entity_id, user_id, False) for row in rows for user_id in json.loads(row.document)["users"]]
