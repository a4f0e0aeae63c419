"""Own addresses of people and teams that existing alerts send to count as verified: they were in use before.

Revision ID: 0067_verified_addresses
Revises: 0066_ends_of_mutes
"""

from __future__ import annotations

import json
import time
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0067_verified_addresses"
down_revision = "0066_ends_of_mutes"

_KEYS = {"Slack": "slack", "MsTeams": "msTeams", "GChat": "gChat", "Webhook": "generic"}
_ALERTS = sa.text("SELECT document FROM entity WHERE entity_type = 'eventsubscription'")
_HOLDERS = sa.text("SELECT entity_id, document FROM attachment WHERE kind = 'addressSetters'")
_VERIFY = sa.text("INSERT INTO attachment (entity_id, kind, document) VALUES (:id, 'verifiedAddresses', :document)")


def upgrade() -> None:
    connection = op.get_bind()
    alerts = [json.loads(text) for text in connection.execute(_ALERTS).scalars()]
    used_keys = {key for alert in alerts for key in map(_own_key, alert.get("destinations") or ()) if key}
    now_ms = int(time.time() * 1000)
    for holder_id, text in connection.execute(_HOLDERS).all():
        verified = {key: {"at": now_ms, "message": None} for key in json.loads(text) if key in used_keys}
        if verified:
            document = json.dumps(verified, separators=(",", ":"))
            connection.execute(_VERIFY, {"id": holder_id, "document": document})


def _own_key(destination: dict[str, Any]) -> str | None:
    """Return the key of the addresses that a destination sends to; None for one that has its own way."""
    config = destination.get("config") or {}
    is_own = destination.get("category") in ("Owners", "Teams") and not (
        config.get("endpoint") or config.get("botToken")
    )
    return _KEYS.get(str(destination.get("type"))) if is_own else None
