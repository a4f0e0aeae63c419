"""Secrets of stored alerts that older versions did not treat as such, sealed when a server starts.

The server is who has the key. Migration 0023 has masked them in versions and events. Next:
``store/catalogue/alerts/subscriptions.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import structlog
from sqlalchemy import Connection, Engine, select, update

from tocsin.delivery.channels.masking import split_secrets
from tocsin.errors import InvalidInput, WrongKey
from tocsin.model.entity import Document
from tocsin.store.catalogue.alerts.subscriptions import ENTITY_TYPE, sealed_columns
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.engine import insert_into, writing
from tocsin.store.database.tables import destination_secret, entity
from tocsin.store.database.vault import vault_of

_SECRET = destination_secret.c
_OF_INTEREST = ("bodyTemplate", "botToken")
_log = structlog.get_logger()


def seal_alerts(engine: Engine) -> None:
    """Seal the secrets that stand in alerts in clear, and tell apart the bots of those that were sealed before.

    Doing it again changes nothing. An alert whose other secrets cannot be opened stays as it is.
    """
    has_secrets = entity.c.document.contains(_OF_INTEREST[0]) | entity.c.document.contains(_OF_INTEREST[1])
    query = select(entity.c.id, entity.c.document).where(entity.c.entity_type == ENTITY_TYPE, has_secrets)
    with writing(engine) as connection:
        for alert_id, text in connection.execute(query.with_for_update()).all():
            try:
                _seal(connection, alert_id, from_text(text))
            except (WrongKey, InvalidInput) as error:
                _log.warning("alert.not_sealed", alert=alert_id, because=error.message)


def _seal(connection: Connection, alert_id: str, alert: Document) -> None:
    destinations = list(_destinations(connection, alert_id, alert))
    masked = alert | {"destinations": destinations}
    if masked != alert:
        connection.execute(update(entity).where(entity.c.id == alert_id).values(document=to_text(masked)))


def _destinations(connection: Connection, alert_id: str, alert: Document) -> Iterator[Document]:
    """Yield the destinations of an alert with masks in place of all secrets, which are sealed."""
    for destination in alert.get("destinations", ()):
        config = destination.get("config")
        if not isinstance(config, dict) or not config.keys() & set(_OF_INTEREST):
            yield destination
            continue
        row = _row(connection, alert_id, destination["id"])
        stored = vault_of(connection).open(from_text(row.document)) if row else {}
        masked, secrets = split_secrets(config, stored)
        if secrets != stored or (row.bot is None and "botToken" in secrets):
            _keep(connection, alert_id, destination["id"], secrets)
        yield destination | {"config": masked}


def _row(connection: Connection, alert_id: str, destination_id: str) -> Any:  # Any: SQLAlchemy's row
    key = _SECRET.subscription_id == alert_id, _SECRET.destination_id == destination_id
    return connection.execute(select(_SECRET.document, _SECRET.bot).where(*key)).first()


def _keep(connection: Connection, alert_id: str, destination_id: str, secrets: Document) -> None:
    key, values = {"subscription_id": alert_id, "destination_id": destination_id}, sealed_columns(connection, secrets)
    insert = insert_into(connection, destination_secret).values(key | values)
    connection.execute(insert.on_conflict_do_update(index_elements=list(key), set_=values))
