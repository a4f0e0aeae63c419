"""Codes that verify own addresses: kept as hashes, for one address, one person and a quarter of an hour.

Who enters the code that was sent to an address reads there. All that is read and written here holds the row of the
person or team, as every write of their profile does. Next: ``store/catalogue/people/own_addresses.py``.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from enum import StrEnum

from sqlalchemy import Connection, Engine, select

from tocsin.model.entity import Document
from tocsin.model.own_address import (
    CODE_LIFE_MS,
    CODES,
    MOST_TRIES,
    OWN_KEYS,
    SETTERS,
    VERIFIED,
    AddressState,
    SentCode,
    stored_addresses,
)
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.observations.series import SqlAttachments
from tocsin.store.catalogue.people.own_addresses import clear_address
from tocsin.store.database.documents import from_text
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import entity


class CodeVerdict(StrEnum):
    """What became of an entered code."""

    VERIFIED = "verified"
    WRONG = "wrong"
    SPENT = "spent"
    NONE = "none"


class AddressCodes:
    """The own addresses of one store as their holders see them, and the codes that verify them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def states(self, holder_id: str, *, now_ms: int) -> list[AddressState]:
        """Return the addresses of a person or team, masked, in the order of ``OWN_KEYS``."""
        with reading(self._engine) as connection:
            addresses, attachments = _addresses(connection, holder_id), SqlAttachments(connection)
            setters, verifications, codes = (
                attachments.get(holder_id, kind) or {} for kind in (SETTERS, VERIFIED, CODES)
            )
        return [
            AddressState(
                channel,
                str(addresses[key]["endpoint"]),
                setters.get(key),
                verifications.get(key, {}).get("at"),
                verifications.get(key, {}).get("message"),
                _sent_code(codes.get(key), now_ms),
            )
            for channel, key in OWN_KEYS.items()
            if key in addresses
        ]

    def address(self, holder_id: str, channel: Channel) -> Document | None:
        """Return an address with its secrets in clear, to send a code there; None if there is none."""
        with reading(self._engine) as connection:
            return clear_address(connection, holder_id, OWN_KEYS[channel])

    def keep(
        self, place: tuple[str, Channel], address: Document, code: str, *, asker_id: str, sent: tuple[str, int]
    ) -> SentCode | None:
        """Keep a code that was sent to an address of a person or team, in place of an earlier one.

        ``sent`` is the id of the message and when it was sent (epoch milliseconds). Returns None, and keeps nothing,
        where another address stands there by now.
        """
        (holder_id, channel), (message_id, now_ms) = place, sent
        key = OWN_KEYS[channel]
        with writing(self._engine) as connection:
            _hold(connection, holder_id)
            if clear_address(connection, holder_id, key) != address:
                return None
            row = {
                "hash": _hash(place, address, asker_id, code),
                "by": asker_id,
                "message": message_id,
                "at": now_ms,
                "tries": 0,
            }
            _put(connection, (holder_id, CODES), key, row)
        return _sent_code(row, now_ms)

    def enter(
        self, place: tuple[str, Channel], code: str, *, asker_id: str, now_ms: int
    ) -> tuple[CodeVerdict, SentCode | None]:
        """Verify an address of a person or team by the code that was sent there; who asked for it becomes its setter.

        Each wrong code counts, also by others. Returns what is left of the code where it may be entered again.
        """
        holder_id, channel = place
        key = OWN_KEYS[channel]
        with writing(self._engine) as connection:
            _hold(connection, holder_id)
            row = (SqlAttachments(connection).get(holder_id, CODES) or {}).get(key)
            address = clear_address(connection, holder_id, key)
            if row is None or address is None or _sent_code(row, now_ms) is None:
                return CodeVerdict.NONE, None
            if not hmac.compare_digest(_hash(place, address, asker_id, code), row["hash"]):
                row = row | {"tries": row["tries"] + 1}
                remaining = _sent_code(row, now_ms)
                _put(connection, (holder_id, CODES), key, row if remaining else None)
                return CodeVerdict.WRONG if remaining else CodeVerdict.SPENT, remaining
            _put(connection, (holder_id, CODES), key, None)
            _put(connection, (holder_id, SETTERS), key, asker_id)
            _put(connection, (holder_id, VERIFIED), key, {"at": now_ms, "message": row["message"]})
        return CodeVerdict.VERIFIED, None


def _sent_code(row: Document | None, now_ms: int) -> SentCode | None:
    """Return what is left of a code; None once it has ended, and while the clock shows a time before it was sent."""
    if row is None or not 0 <= now_ms - row["at"] < CODE_LIFE_MS or row["tries"] >= MOST_TRIES:
        return None
    return SentCode(row["at"] + CODE_LIFE_MS, MOST_TRIES - row["tries"])


def _hash(place: tuple[str, Channel], address: Document, asker_id: str, code: str) -> str:
    """Return the hash of a code for one address of a person or team, and who asked for it."""
    about = json.dumps([*place, address, asker_id, code], sort_keys=True)
    return hashlib.sha256(about.encode()).hexdigest()


def _addresses(connection: Connection, holder_id: str) -> dict[str, Document]:
    text = connection.scalars(select(entity.c.document).where(entity.c.id == holder_id)).one_or_none()
    return {} if text is None else stored_addresses(from_text(text))


def _hold(connection: Connection, holder_id: str) -> None:
    connection.execute(select(entity.c.id).where(entity.c.id == holder_id).with_for_update())


def _put(connection: Connection, place: tuple[str, str], key: str, value: object) -> None:
    """Set what an attachment has under a key; None removes it."""
    attachments = SqlAttachments(connection)
    document = {name: one for name, one in (attachments.get(*place) or {}).items() if name != key}
    attachments.put(*place, document if value is None else document | {key: value})
