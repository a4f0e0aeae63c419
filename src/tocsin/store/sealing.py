"""Encryption of secrets that earlier releases stored in clear: in documents, versions, events and keys.

It runs once, as migration 0021, and produces what would have been written had the secrets been known: masks in
documents, and the encrypted values outside them. The lake is not rewritten (``docs/settings.md``).
Next: ``store/vault.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, Table, insert, select, union, update

from tocsin.flow.capture.secrets import KIND, in_clear_part, masked_value, parts_of, split
from tocsin.model.address import MASK, masked_url
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.secret import CONNECTIONS, DESTINATIONS
from tocsin.model.subscription import Channel
from tocsin.store import tables
from tocsin.store.alerts.backtest_tables import backtest
from tocsin.store.alerts.masking import masked_config, masked_map, split_again
from tocsin.store.chunks import in_lots
from tocsin.store.documents import from_text, to_text
from tocsin.store.observations.tables import attachment
from tocsin.store.vault import vault_of

_ALERT = "eventsubscription"
_CONNECTING = tuple(row.name for row in ENTITY_TYPES.values() if parts_of(row))
_CHANGES = ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")
_DESCRIPTIONS = ("changeDescription", "incrementalChangeDescription")
_VALUES = ("oldValue", "newValue")
_FREE = "config"
"""The key of an alert's free map."""
Value = Any  # Any: a JSON value of whatever document


def seal_all(connection: Connection) -> None:
    """Replace all secrets in clear by masks, and encrypt those in use."""
    _seal_keys(connection)
    _seal_connections(connection)
    _seal_alerts(connection)
    _mask_past(connection)
    _mask_backtests(connection)
    _mask_addresses(connection)


def mask_free_texts(connection: Connection) -> None:
    """Mask the free maps of alerts, current and past, and delete stored response texts of receivers."""
    for alert_id, _, document in _entities(connection, (_ALERT,)):
        _replace(connection, tables.entity, {"id": alert_id}, masked(document), document)
    _mask_past(connection)
    said = tables.attempt.c.detail
    connection.execute(update(tables.attempt).where(said != "").values(detail=""))


def masked(document: Document) -> Document:
    """Return a document with masks in place of all secrets, also in its change description."""
    made = {key: _masked(key, value) for key, value in document.items()}
    return made | {key: _masked_change(made[key]) for key in _DESCRIPTIONS if isinstance(made.get(key), dict)}


def _masked(key: str, value: Value) -> Value:
    if key in CONNECTIONS:
        return masked_value((key,), value)
    if key.partition(".")[0] == _FREE:
        return masked_map(value)
    return [_masked_destination(one) for one in value] if key == DESTINATIONS and isinstance(value, list) else value


def _masked_destination(destination: Value) -> Value:
    if not isinstance(destination, dict) or not isinstance(destination.get("config"), dict):
        return destination
    return destination | {"config": masked_config(destination["config"])}


def _masked_change(change: Document) -> Document:
    def field(one: Document) -> Document:
        return one | {key: _masked(one["name"], one[key]) for key in _VALUES if key in one}

    return change | {key: [field(one) for one in change[key]] for key in _CHANGES if key in change}


def _seal_keys(connection: Connection) -> None:
    own = tables.server_secret
    for name, value in connection.execute(select(own.c.name, own.c.value)).all():
        vault = vault_of(connection)
        sealed = vault.sealed_text(vault.opened_text(value))
        connection.execute(update(own).where(own.c.name == name).values(value=sealed))


def _seal_connections(connection: Connection) -> None:
    for entity_id, _, document in _entities(connection, _CONNECTING):
        is_it = (attachment.c.entity_id == entity_id) & (attachment.c.kind == KIND)
        stored = connection.execute(select(attachment.c.document).where(is_it)).scalar_one_or_none()
        known = vault_of(connection).opened(from_text(stored)) if stored else {}
        clear = {key: in_clear_part(key, document[key], known) for key in CONNECTIONS if key in document}
        shown, found = split(clear)
        kept = {place: value for place, value in found.items() if value != MASK}
        if kept != known:
            connection.execute(attachment.delete().where(is_it))
            row = {"entity_id": entity_id, "kind": KIND, "document": to_text(vault_of(connection).sealed(kept))}
            connection.execute(insert(attachment), row)
        _replace(connection, tables.entity, {"id": entity_id}, masked(document | shown), document)


def _seal_alerts(connection: Connection) -> None:
    secret = tables.destination_secret
    for alert_id, _, document in _entities(connection, (_ALERT,)):
        query = select(secret.c.destination_id, secret.c.document).where(secret.c.subscription_id == alert_id)
        vault = vault_of(connection)
        known = {one: vault.opened(from_text(text)) for one, text in connection.execute(query)}
        connection.execute(secret.delete().where(secret.c.subscription_id == alert_id))
        for destination in document.get(DESTINATIONS) or ():
            config, kept = split_again(destination.get("config") or {}, known.get(destination["id"], {}))
            destination |= {"config": config} if config else {}
            if kept:
                row = {"subscription_id": alert_id, "destination_id": destination["id"]}
                connection.execute(insert(secret), row | {"document": to_text(vault.sealed(kept))})
        _replace(connection, tables.entity, {"id": alert_id}, masked(document), None)


def _mask_past(connection: Connection) -> None:
    """Mask versions and events; also those of hard-deleted entities, whose type only the log still has."""
    event, version = tables.change_event, tables.entity_version
    ours = (*_CONNECTING, _ALERT)
    ids = union(
        select(event.c.entity_id).where(event.c.entity_type.in_(ours)),
        select(tables.entity.c.id).where(tables.entity.c.entity_type.in_(ours)),
    )
    query = select(version.c.entity_id, version.c.version_tenths, version.c.document)
    for some in in_lots([one for (one,) in connection.execute(ids)]):
        for entity_id, tenths, text in connection.execute(query.where(version.c.entity_id.in_(some))).all():
            document = from_text(text)
            key = {"entity_id": entity_id, "version_tenths": tenths}
            _replace(connection, version, key, masked(document), document)
    offsets = connection.execute(select(event.c.log_offset).where(event.c.entity_type.in_(ours))).scalars().all()
    for some in in_lots(offsets):
        rows = select(event.c.log_offset, event.c.document, event.c.derived).where(event.c.log_offset.in_(some))
        for log_offset, text, derived in connection.execute(rows).all():
            _mask_event(connection, log_offset, (text, derived))


def _mask_event(connection: Connection, log_offset: int, texts: tuple[str, str]) -> None:
    document, derived = from_text(texts[0]), texts[1]
    made = masked(document | ({"entity": masked(document["entity"])} if document.get("entity") else {}))
    if made == document:
        return
    hidden = sorted(set(_texts(document)) - set(_texts(made)), key=len, reverse=True)
    for text in hidden:
        derived = derived.replace(to_text({"": text})[5:-2], MASK)
    values = {"document": to_text(made), "derived": derived}
    event = tables.change_event
    connection.execute(update(event).where(event.c.log_offset == log_offset).values(values))


def _mask_backtests(connection: Connection) -> None:
    for backtest_id, text in connection.execute(select(backtest.c.id, backtest.c.request)).all():
        request = from_text(text)
        made = {key: masked(value) if isinstance(value, dict) else value for key, value in request.items()}
        values = {"request": to_text(masked(made))}
        connection.execute(update(backtest).where(backtest.c.id == backtest_id).values(values))


def _mask_addresses(connection: Connection) -> None:
    """Mask the endpoints of webhooks in notification records; ids stay, so nothing is sent again."""
    for table, column, shown in (
        (tables.delivery, tables.delivery.c.target, _shown_target),
        (tables.notification, tables.notification.c.recipient, _shown_recipient),
    ):
        of_webhooks = table.c.channel == Channel.WEBHOOK.value
        for (value,) in connection.execute(select(column).where(of_webhooks).distinct()).all():
            if (less := shown(value)) != value:
                connection.execute(update(table).where(of_webhooks, column == value).values({column.name: less}))


def _shown_target(endpoint: str) -> str:
    return masked_url(endpoint, with_path=True)


def _shown_recipient(recipient: str) -> str:
    alert_id, colon, endpoint = recipient.partition(":")
    return f"{alert_id}{colon}{_shown_target(endpoint)}" if endpoint else recipient


def _entities(connection: Connection, types: Iterable[str]) -> Iterator[tuple[str, str, Document]]:
    own = tables.entity.c
    ids = connection.execute(select(own.id).where(own.entity_type.in_(tuple(types)))).scalars().all()
    for some in in_lots(ids):
        rows = connection.execute(select(own.id, own.entity_type, own.document).where(own.id.in_(some))).all()
        yield from ((entity_id, entity_type, from_text(text)) for entity_id, entity_type, text in rows)


def _replace(connection: Connection, table: Table, key: Document, made: Document, was: Document | None) -> None:
    if made != was:
        is_it = [table.c[name] == value for name, value in key.items()]
        connection.execute(update(table).where(*is_it).values(document=to_text(made)))


def _texts(value: Value) -> Iterator[str]:
    """Yield every text in a value, but those too short to be anything."""
    inner: Iterable[Value] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, str) and len(value) > len("pw"):
        yield value
    for one in inner:
        yield from _texts(one)
