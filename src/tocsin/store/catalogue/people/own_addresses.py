"""Own addresses of people and teams: who has one, and the address itself, for sending.

Those that older versions stored in clear are sealed when a server, which has the key, starts; migration 0028 has masked
them in versions and events. Next: ``flow/capture/secrets.py``, which seals what is written now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import Connection, Engine, select, update

from tocsin.chunks import chunks_of
from tocsin.flow.capture.secrets import KIND, in_clear_part, split
from tocsin.flow.resolve.directory import HeldAddress
from tocsin.model.address import without_masks
from tocsin.model.entity import Document
from tocsin.model.own_address import OWN_KEYS, SETTERS, VERIFIED, OwnAddress, stored_addresses
from tocsin.model.secret import PROFILE, SUBSCRIPTION
from tocsin.model.subscription import Channel, DestinationConfig
from tocsin.store.catalogue.observations.series import SqlAttachments
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.observation_tables import attachment
from tocsin.store.database.tables import entity, person

_VERIFIED = attachment.alias("verified_address")
_CHANGES = ("changeDescription", "incrementalChangeDescription")


class OwnAddresses:
    """The own addresses of one store, in clear."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, own_address: OwnAddress, channel: str) -> DestinationConfig | None:
        """Return how to send there; None if the holder has no such verified address, or another person set it."""
        key = OWN_KEYS[Channel(channel)]
        with reading(self._engine) as connection:
            held_address = next(
                (one for one in held_addresses(connection, [own_address.holder_id]) if one.channel == channel), None
            )
            if held_address is None or held_address.deleted or held_address.address != own_address:
                return None
            clear = clear_address(connection, own_address.holder_id, key) if held_address.is_verified else None
        return None if clear is None else DestinationConfig.model_validate(clear)


def clear_address(connection: Connection, holder_id: str, key: str) -> Document | None:
    """Return what is stored of an address of a person or team, secrets in clear; None if there is none."""
    text = connection.scalars(select(entity.c.document).where(entity.c.id == holder_id)).one_or_none()
    document = {} if text is None else from_text(text)
    if key not in stored_addresses(document):
        return None
    secrets = SqlAttachments(connection).get(holder_id, KIND) or {}
    clear: Document = in_clear_part(PROFILE, document[PROFILE], secrets)[SUBSCRIPTION][key]
    return clear


def held_addresses(connection: Connection, holder_ids: Collection[str]) -> Iterator[HeldAddress]:
    """Yield the addresses that these people and teams have, if the person who set them still exists."""
    columns = (entity.c.id, entity.c.entity_type, entity.c.name, entity.c.deleted, entity.c.document)
    states = (attachment.c.document.label("setters"), _VERIFIED.c.document.label("verified"))
    has_setters = (attachment.c.entity_id == entity.c.id) & (attachment.c.kind == SETTERS)
    is_verified = (_VERIFIED.c.entity_id == entity.c.id) & (_VERIFIED.c.kind == VERIFIED)
    for chunk in chunks_of(sorted(holder_ids)):
        query = select(*columns, *states).join(attachment, has_setters).outerjoin(_VERIFIED, is_verified)
        holders = [(row, from_text(row.setters)) for row in connection.execute(query.where(entity.c.id.in_(chunk)))]
        present = _present(connection, {one for _, set_by in holders for one in set_by.values()})
        for row, set_by in holders:
            yield from _addresses_of(row, {key: one for key, one in set_by.items() if one in present})


def _addresses_of(row: Any, set_by: Document) -> Iterator[HeldAddress]:  # Any: a row of an entity
    addresses, verifications = stored_addresses(from_text(row.document)), from_text(row.verified or "{}")
    for channel, key in OWN_KEYS.items():
        if key in set_by and key in addresses:
            own_address = OwnAddress(row.entity_type, row.id, set_by[key])
            address_text = without_masks(str(addresses[key]["endpoint"]))
            yield HeldAddress(channel, own_address, row.name, bool(row.deleted), key in verifications, address_text)


def _present(connection: Connection, user_ids: Collection[str]) -> set[str]:
    """Return those of these people who are not deleted."""
    query = select(person.c.user_id).where(~person.c.deleted)
    return {row.user_id for row in rows_by_key(connection, query, person.c.user_id, user_ids)}


def seal_own_addresses(engine: Engine) -> None:
    """Seal the addresses that stand in people and teams in clear. Doing it again changes nothing."""
    is_one = entity.c.entity_type.in_(("user", "team")), entity.c.document.contains(f'"{SUBSCRIPTION}"')
    query = select(entity.c.id, entity.c.document).where(*is_one)
    with writing(engine) as connection:
        for entity_id, text in connection.execute(query.with_for_update()).all():
            _seal(connection, entity_id, from_text(text))


def _seal(connection: Connection, entity_id: str, document: Document) -> None:
    masked, secrets = split({key: document[key] for key in (PROFILE,) if isinstance(document.get(key), dict)})
    masked |= {key: _without_addresses(document[key]) for key in _CHANGES if document.get(key)}
    if document | masked == document:
        return
    if secrets:
        attachments = SqlAttachments(connection)
        attachments.put(entity_id, KIND, (attachments.get(entity_id, KIND) or {}) | secrets)
    connection.execute(update(entity).where(entity.c.id == entity_id).values(document=to_text(document | masked)))


def _without_addresses(change: Document) -> Document:
    return {key: list(map(_with_masks, value)) if isinstance(value, list) else value for key, value in change.items()}


def _with_masks(change: Document) -> Document:
    """Return a field change with masks in the addresses that it states."""
    if change.get("name") != PROFILE:
        return change
    stated = {key: change[key] for key in ("oldValue", "newValue") if isinstance(change.get(key), dict)}
    return change | {key: split({PROFILE: value})[0][PROFILE] for key, value in stated.items()}
