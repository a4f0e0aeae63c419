"""Which parts of a destination's configuration are secret, and how do they leave and re-enter it? Behind a mask.

What is secret is replaced by a mask before the subscription becomes an entity, so that no version, event or answer
ever holds it; whoever writes the mask back keeps the secret. Next: ``store/alerts/subscriptions.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

MASK = "*********"
"""What stands in a secret's place; upstream's own mask."""

_SECRET_NAME = re.compile(r"authorization|cookie|secret|token|password|passwd|api-?_?key|signature|credential", re.I)
_NAMED_PARTS = ("headers", "queryParams", "authType")
_NEVER_SECRET = frozenset({"tokenUrl"})
Place = tuple[str, ...]


def split_secrets(config: Document, known: Document) -> tuple[Document, Document]:
    """Return ``config`` with masks in place of its secrets, and the secrets by their place.

    ``known`` holds the secrets stored so far: a mask in ``config`` keeps the one at its place.

    Raises
    ------
    InvalidInput : a mask stands where no secret is known
    """
    kept: Document = {}

    def mask(place: Place, value: str) -> str:
        if value == MASK:
            value = _at(known, place)
            if value is None:
                raise InvalidInput(
                    f"holds the mask {MASK}, but no secret is stored there: send it", field=".".join(place)
                )
        _put(kept, place, value)
        return MASK

    return _mapped(config, mask), kept


def holds_mask(config: Document) -> bool:
    """Say whether a mask stands where a secret belongs: what is stored there has to be known."""
    found: list[str] = []

    def note(_place: Place, value: str) -> str:
        found.append(value)
        return value

    _mapped(config, note)
    return MASK in found


def with_secrets(config: Document, known: Document) -> Document:
    """Return ``config`` with the stored secrets in place of their masks; for whoever sends."""
    return _mapped(config, lambda place, value: _at(known, place) or value)


def _mapped(config: Document, change: Callable[[Place, str], str]) -> Document:
    result = dict(config)
    if isinstance(config.get("secretKey"), str):
        result["secretKey"] = change(("secretKey",), config["secretKey"])
    for part in _NAMED_PARTS:
        if isinstance(config.get(part), dict):
            result[part] = _mapped_part((part,), config[part], change)
    return result


def _mapped_part(place: Place, part: Document, change: Callable[[Place, str], str]) -> Document:
    return {name: _mapped_value((*place, name), value, change) for name, value in part.items()}


def _mapped_value(place: Place, value: Any, change: Callable[[Place, str], str]) -> Any:  # Any: a JSON value
    if isinstance(value, dict):
        return _mapped_part(place, value, change)
    secret = isinstance(value, str) and place[-1] not in _NEVER_SECRET and _SECRET_NAME.search(place[-1])
    return change(place, value) if secret else value


def _at(known: Document, place: Place) -> Any:  # Any: a JSON value
    found: Any = known
    for step in place:
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _put(kept: Document, place: Place, value: str) -> None:
    for step in place[:-1]:
        kept = kept.setdefault(step, {})
    kept[place[-1]] = value
