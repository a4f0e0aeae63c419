"""Keys that let stored alerts send as before: bearer secrets as a token, arrays where there is a batch size.

Both were the defaults and are asked for by keys now. Versions and events get the keys, too, so that an alert's history
says what it did, and a rollback does it again.

Revision ID: 0025_sending_as_before
Revises: 0024_curated
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from tocsin.store.database.snapshots import Texts

revision = "0025_sending_as_before"
down_revision = "0024_curated"

_WITHOUT_ARRAYS = (1, 100)
"""Batch sizes with which webhooks got one event per request: the least, and the default."""

_PORTION = 500
_ALERTS = sa.text(
    "SELECT id, document FROM entity WHERE entity_type = 'eventsubscription' AND id > :after ORDER BY id LIMIT :portion"
)
_PRESENT = sa.text("UPDATE entity SET document = :text WHERE id = :id")
_TABLES = (("entity_version", "version_tenths"), ("change_event", "log_offset"))
_SNAPSHOTS = sa.text("DELETE FROM document_snapshot WHERE entity_id = :id")


def upgrade() -> None:
    connection = op.get_bind()
    for alert_id, text in _alerts(connection):
        present = json.loads(text)
        arrays = present.get("batchSize", _WITHOUT_ARRAYS[-1]) not in _WITHOUT_ARRAYS
        if _with_keys(present, arrays=arrays) == present:
            continue
        connection.execute(_PRESENT, {"id": alert_id, "text": _text(_with_keys(present, arrays=arrays))})
        for table, key in _TABLES:
            _rewrite(connection, table, key, alert_id, arrays=arrays)
        connection.execute(_SNAPSHOTS, {"id": alert_id})


def _alerts(connection: sa.Connection) -> Iterator[tuple[str, str]]:
    after = ""
    while found := connection.execute(_ALERTS, {"after": after, "portion": _PORTION}).all():
        after = found[-1].id
        yield from ((row.id, row.document) for row in found)


def _rewrite(connection: sa.Connection, table: str, key: str, alert_id: str, *, arrays: bool) -> None:
    """Store the texts of an alert's versions or events whole, with the keys."""
    columns = f"{key} AS number, document, snapshot_id, difference"
    query = sa.text(f"SELECT {columns} FROM {table} WHERE entity_id = :id")  # noqa: S608  our own names
    change = sa.text(
        f"UPDATE {table} SET document = :text, document_bytes = NULL, snapshot_id = NULL, difference = NULL"  # noqa: S608
        f" WHERE entity_id = :id AND {key} = :number"
    )
    reader = Texts(connection)
    texts = {row.number: reader.of(row) for row in connection.execute(query, {"id": alert_id})}
    for number, text in texts.items():
        kept = _text(_with_keys(json.loads(text), arrays=arrays))
        connection.execute(change, {"text": kept, "id": alert_id, "number": number})


def _text(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _with_keys(value: Any, *, arrays: bool) -> Any:  # Any: a JSON value
    """Return a JSON value with the keys in every destination in it, at any depth."""
    if isinstance(value, list):
        return [_with_keys(one, arrays=arrays) for one in value]
    if not isinstance(value, dict):
        return value
    made = {key: _with_keys(inner, arrays=arrays) for key, inner in value.items()}
    if made.get("type") == "bearer" and "secretKey" in made:
        return {**made, "sendSecret": True}
    is_webhook = made.get("type") == "Webhook" and "category" in made and isinstance(made.get("config"), dict)
    return {**made, "config": {**made["config"], "batchBy": "all"}} if arrays and is_webhook else made
