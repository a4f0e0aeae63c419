"""Which parts of a connection are secret? They stand beside the entity, and a mask stands in their place.

So no version, event, log line or answer ever holds one. Whoever writes the mask back keeps the secret; bots, which
need them to connect, read them in clear (``server/presented.py``). ``store/alerts/masking.py`` does the same for
alerts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tocsin.errors import InvalidInput, WrongKey
from tocsin.flow.capture.ports import Transaction
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType

MASK = "*********"
"""What stands in a secret's place; upstream's own mask."""

KIND = "secrets"
"""As what the secrets of an entity are attached to it: text by the path of its place."""

_PARTS = ("connection", "sourceConfig", "openMetadataServerConnection")
_SECRET = re.compile(
    r"password|passwd|passphrase|secret|token|jwt|api_?key|private_?key|access_?key_?id|credential|cert|ssl_?key|sslca|"
    r"authorization|proxyauthentication|basicauthuserinfo|cookie|signature",
    re.IGNORECASE,
)
_NEVER = re.compile(r"(ur[li]|type|path|expiry|name|endpoint)$", re.IGNORECASE)
_Value = Any  # Any: a JSON value inside a connection
_Change = Callable[[str, str], str]


def parts_of(kind: EntityType) -> tuple[str, ...]:
    """Return the keys of a type under which secrets may stand."""
    return tuple(key for key in _PARTS if key in kind.keys)


def hidden(transaction: Transaction, kind: EntityType, entity_id: str, fields: Document) -> Document:
    """Return an entity's fields with masks in place of the secrets, which are kept beside it.

    Raises
    ------
    InvalidInput : a mask stands where no secret is known
    WrongKey : a mask stands for a secret that was sealed with a key which is not here
    """
    parts = [key for key in parts_of(kind) if isinstance(fields.get(key), dict)]
    if not parts:
        return fields
    known, unreadable = _known(transaction, entity_id)
    kept: dict[str, str] = {}

    def mask(place: str, value: str) -> str:
        if value == MASK:
            if unreadable is not None:
                raise unreadable
            if place not in known:
                raise InvalidInput(
                    f"{place} holds the mask {MASK}, but no secret is stored there: send it", field=place
                )
            value = known[place]
        kept[place] = value
        return MASK

    masked = fields | {key: _mapped(key, fields[key], mask) for key in parts}
    if kept != known or unreadable is not None:
        transaction.attachments.put(entity_id, KIND, kept)
    return masked


def _known(transaction: Transaction, entity_id: str) -> tuple[Document, WrongKey | None]:
    """Return the secrets kept so far, or why they cannot be read: whoever sends them anew need not know."""
    try:
        return transaction.attachments.get(entity_id, KIND) or {}, None
    except WrongKey as unreadable:
        return {}, unreadable


def in_clear(kind: EntityType, document: Document, known: Document) -> Document:
    """Return a document with its secrets in place of the masks."""
    parts = [key for key in parts_of(kind) if isinstance(document.get(key), dict)]
    return document | {key: _mapped(key, document[key], lambda place, value: known.get(place, value)) for key in parts}


def _mapped(place: str, value: _Value, change: _Change) -> _Value:
    if isinstance(value, dict):
        return {key: _mapped(f"{place}.{key}", inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mapped(f"{place}.{at}", inner, change) for at, inner in enumerate(value)]
    return change(place, value) if isinstance(value, str) and value and _is_secret(place) else value


def _is_secret(place: str) -> bool:
    names = [step for step in place.split(".") if not step.isdigit()]
    return bool(_SECRET.search(names[-1]) and not _NEVER.search(names[-1]))
