"""Masks in place of the bodies of webhooks in versions and events of alerts: they may contain tokens.

The present documents of alerts keep theirs until a server, which has the key, seals them when it starts.

Revision ID: 0023_masked_bodies
Revises: 0022_bots
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

from tocsin.store.database.snapshots import Texts

revision = "0023_masked_bodies"
down_revision = "0022_bots"

_KEY, _MASK = "bodyTemplate", "*********"
_PORTION = 500
_ALERTS = sa.text(
    "SELECT DISTINCT entity_id FROM change_event WHERE entity_type = 'eventsubscription' AND entity_id > :after"
    " ORDER BY entity_id LIMIT :portion"
)
_TEXT = "document, snapshot_id, difference"
_TABLES = (("entity_version", "version_tenths"), ("change_event", "log_offset"))
_SNAPSHOTS = sa.text("DELETE FROM document_snapshot WHERE entity_id = :id")


def upgrade() -> None:
    connection = op.get_bind()
    for alert_id in _alerts(connection):
        texts = [(table, key, _texts(connection, table, key, alert_id)) for table, key in _TABLES]
        if any(_masked(json.loads(text)) != json.loads(text) for *_, rows in texts for text in rows.values()):
            for table, key, rows in texts:
                _rewrite(connection, table, key, alert_id, rows)
            connection.execute(_SNAPSHOTS, {"id": alert_id})


def _alerts(connection: sa.Connection) -> Iterator[str]:
    after = ""
    while found := connection.execute(_ALERTS, {"after": after, "portion": _PORTION}).scalars().all():
        after = found[-1]
        yield from found


def _texts(connection: sa.Connection, table: str, key: str, alert_id: str) -> dict[int, str]:
    """Return the texts of an alert's versions or events, by their numbers."""
    query = sa.text(f"SELECT {key} AS number, {_TEXT} FROM {table} WHERE entity_id = :id")  # noqa: S608  our own names
    reader = Texts(connection)
    return {row.number: reader.of(row) for row in connection.execute(query, {"id": alert_id})}


def _rewrite(connection: sa.Connection, table: str, key: str, alert_id: str, rows: dict[int, str]) -> None:
    """Store the texts whole: what they were compared with has the bodies as well."""
    change = sa.text(
        f"UPDATE {table} SET document = :text, document_bytes = NULL, snapshot_id = NULL, difference = NULL"  # noqa: S608
        f" WHERE entity_id = :id AND {key} = :number"
    )
    for number, text in rows.items():
        masked = json.dumps(_masked(json.loads(text)), ensure_ascii=False, separators=(",", ":"))
        connection.execute(change, {"text": masked, "id": alert_id, "number": number})


def _masked(value: object) -> object:
    """Return a JSON value with masks in place of bodies, at any depth."""
    if isinstance(value, list):
        return [_masked(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _MASK if key == _KEY and isinstance(inner, str) else _masked(inner) for key, inner in value.items()}
