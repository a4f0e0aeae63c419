"""Own addresses of people and teams that older versions stored in clear, sealed when a server starts.

The server is who has the key. Migration 0028 has masked them in versions and events. Next:
``flow/capture/secrets.py``, which seals what is written now.
"""

from __future__ import annotations

from sqlalchemy import Connection, Engine, select, update

from tocsin.flow.capture.secrets import KIND, split
from tocsin.model.entity import Document
from tocsin.model.secret import PROFILE, SUBSCRIPTION
from tocsin.store.documents import from_text, to_text
from tocsin.store.engine import writing
from tocsin.store.observations.series import SqlAttachments
from tocsin.store.tables import entity

_CHANGES = ("changeDescription", "incrementalChangeDescription")


def seal_own_addresses(engine: Engine) -> None:
    """Seal the addresses that stand in people and teams in clear. Doing it again changes nothing."""
    is_one = entity.c.entity_type.in_(("user", "team")), entity.c.document.contains(f'"{SUBSCRIPTION}"')
    query = select(entity.c.id, entity.c.document).where(*is_one)
    with writing(engine) as connection:
        for entity_id, text in connection.execute(query.with_for_update()).all():
            _seal(connection, entity_id, from_text(text))


def _seal(connection: Connection, entity_id: str, document: Document) -> None:
    masked, kept = split({key: document[key] for key in (PROFILE,) if isinstance(document.get(key), dict)})
    masked |= {key: _without_addresses(document[key]) for key in _CHANGES if document.get(key)}
    if document | masked == document:
        return
    if kept:
        attachments = SqlAttachments(connection)
        attachments.put(entity_id, KIND, (attachments.get(entity_id, KIND) or {}) | kept)
    connection.execute(update(entity).where(entity.c.id == entity_id).values(document=to_text(document | masked)))


def _without_addresses(change: Document) -> Document:
    return {key: list(map(_masked, value)) if isinstance(value, list) else value for key, value in change.items()}


def _masked(change: Document) -> Document:
    """Return a field change with masks in the addresses that it states."""
    if change.get("name") != PROFILE:
        return change
    stated = {key: change[key] for key in ("oldValue", "newValue") if isinstance(change.get(key), dict)}
    return change | {key: split({PROFILE: value})[0][PROFILE] for key, value in stated.items()}
