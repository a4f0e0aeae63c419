"""Masks in place of the own addresses of people and teams in versions and events: they are secrets.

The present documents keep theirs until a server, which has the key, seals them when it starts.

Revision ID: 0028_masked_addresses
Revises: 0027_domains_of_products
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

from tocsin.model.address import masked_url
from tocsin.store.database.snapshots import Texts

revision = "0028_masked_addresses"
down_revision = "0027_domains_of_products"

_KINDS = frozenset({"slack", "msTeams", "gChat", "generic"})
_MASK, _MAPS = "*********", ("headers", "queryParams")
_ADDRESSES, _SECRETS = ("endpoint", "tokenUrl"), ("secretKey", "clientSecret")
_PORTION = 500
_PEOPLE = sa.text(
    "SELECT DISTINCT entity_id FROM change_event WHERE entity_type IN ('user', 'team') AND entity_id > :after"
    " AND (document LIKE '%subscription%' OR snapshot_id IS NOT NULL) ORDER BY entity_id LIMIT :portion"
)
_TABLES = (("entity_version", "version_tenths"), ("change_event", "log_offset"))
_SNAPSHOTS = sa.text("DELETE FROM document_snapshot WHERE entity_id = :id")


def upgrade() -> None:
    connection = op.get_bind()
    for entity_id in _people(connection):
        texts = [(table, key, _texts(connection, table, key, entity_id)) for table, key in _TABLES]
        if any(_masked(json.loads(text)) != json.loads(text) for *_, rows in texts for text in rows.values()):
            for table, key, rows in texts:
                _rewrite(connection, table, key, entity_id, rows)
            connection.execute(_SNAPSHOTS, {"id": entity_id})


def _people(connection: sa.Connection) -> Iterator[str]:
    after = ""
    while found := connection.execute(_PEOPLE, {"after": after, "portion": _PORTION}).scalars().all():
        after = found[-1]
        yield from found


def _texts(connection: sa.Connection, table: str, key: str, entity_id: str) -> dict[int, str]:
    """Return the texts of a person's versions or events, by their numbers."""
    query = f"SELECT {key} AS number, document, snapshot_id, difference FROM {table} WHERE entity_id = :id"  # noqa: S608
    reader = Texts(connection)
    return {row.number: reader.of(row) for row in connection.execute(sa.text(query), {"id": entity_id})}


def _rewrite(connection: sa.Connection, table: str, key: str, entity_id: str, rows: dict[int, str]) -> None:
    """Store the texts whole: what they were compared with has the addresses as well."""
    change = sa.text(
        f"UPDATE {table} SET document = :text, document_bytes = NULL, snapshot_id = NULL, difference = NULL"  # noqa: S608
        f" WHERE entity_id = :id AND {key} = :number"
    )
    for number, text in rows.items():
        masked = json.dumps(_masked(json.loads(text)), ensure_ascii=False, separators=(",", ":"))
        connection.execute(change, {"text": masked, "id": entity_id, "number": number})


def _masked(value: object) -> object:
    """Return a JSON value with masks in all addresses of people, at any depth."""
    if isinstance(value, list):
        return [_masked(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _hidden(inner) if _is_own(key, inner) else _masked(inner) for key, inner in value.items()}


def _is_own(key: str, value: object) -> bool:
    return key == "subscription" and isinstance(value, dict) and _KINDS.issuperset(value)


def _hidden(value: object, above: str = "") -> object:
    if isinstance(value, dict):
        return {key: _hidden(inner, above if above in _MAPS else key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_hidden(one, above) for one in value]
    if not isinstance(value, str):
        return value
    if above in _ADDRESSES:
        return masked_url(value, with_path=True)
    return _MASK if above in (*_MAPS, *_SECRETS) else value
