"""Secrets of destinations: replaced by masks before an alert is stored as an entity, and restored for sending.

Each channel says which parts of its configuration are secret (``flow/send/channels/table.py``); the secret part of an
address (``model/address.py``) always is. They are encrypted together with the whole address, and bound to its scheme,
host and port: if those change, a mask keeps nothing. Credentials for tokens are bound to the token URL's, too.
Next: ``store/alerts/subscriptions.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tocsin.errors import InvalidInput, StaleSecrets
from tocsin.flow.send.channels.table import CHANNELS
from tocsin.model.address import MASK, kept_url, masked_origin, masked_url, origin_of
from tocsin.model.entity import Document

ENDPOINT = "endpoint"
_PLAIN = {key: plain for one in CHANNELS.values() for key, plain in one.secret_maps}
"""What is no secret by its name, below each key whose values are secret, of any channel."""
_TEXTS = frozenset(key for one in CHANNELS.values() for key in one.secret_texts)
KeyPath = tuple[str, ...]
_TOKEN_URL: KeyPath = ("authType", "tokenUrl")


def split_secrets(config: Document, known: Document) -> tuple[Document, Document]:
    """Return ``config`` with masks in place of its secrets, and the secrets by path.

    ``known`` holds the secrets stored so far: a mask in ``config`` keeps the one at its path, as long as the endpoint
    has the same origin.

    Raises
    ------
    InvalidInput : a mask without a known secret, or for a secret that was given for another receiver
    """
    endpoint = _endpoint(config.get(ENDPOINT), known.get(ENDPOINT))
    moved = _leads_to(endpoint) != _leads_to(known.get(ENDPOINT))
    kept: Document = {}

    def mask(place: KeyPath, value: str) -> str:
        target = "endpoint" if moved else _moved_token_url(place, config, known)
        _put(kept, place, _kept(value, _at(known, place), ".".join(place), moved=target) if MASK in value else value)
        return MASK

    masked = _mapped(config, mask)
    if isinstance(endpoint, str):
        masked[ENDPOINT] = masked_url(endpoint, with_path=True)
        if kept or masked[ENDPOINT] != endpoint:
            kept[ENDPOINT] = endpoint
    return masked, kept


def holds_mask(config: Document) -> bool:
    """Return whether a mask is in place of a secret: the stored one has to be known."""
    endpoint = config.get(ENDPOINT)
    found: list[str] = [endpoint] if isinstance(endpoint, str) else []

    def note(_place: KeyPath, value: str) -> str:
        found.append(value)
        return value

    _mapped(config, note)
    return any(MASK in text for text in found)


def differing(secrets: Document, known: Document) -> Iterator[KeyPath]:
    """Yield the places of the secrets that are not the known ones."""
    for key, value in secrets.items():
        if isinstance(value, dict):
            inner = known.get(key)
            yield from ((key, *rest) for rest in differing(value, inner if isinstance(inner, dict) else {}))
        elif value != known.get(key):
            yield (key,)


def with_secrets(config: Document, known: Document) -> Document:
    """Return ``config`` with the stored secrets in place of their masks, for sending.

    Raises
    ------
    StaleSecrets : the secrets belong to another receiver than ``config`` names: a change is in progress, or was
        interrupted
    """
    endpoint = known.get(ENDPOINT)
    if endpoint is not None and _leads_to(endpoint) != masked_origin(config.get(ENDPOINT)):
        raise StaleSecrets()
    if endpoint is None and MASK in str(config.get(ENDPOINT)):
        raise StaleSecrets()
    clear = _mapped(config, lambda place, value: _at(known, place) or value)
    return clear if endpoint is None else clear | {ENDPOINT: endpoint}


def _endpoint(given: object, known: object) -> object:
    """Return the endpoint that is meant: the known one where the given one is what is shown of it."""
    if not isinstance(given, str) or MASK not in given:
        return given
    found = kept_url(given, known, with_path=True)
    if found is None:
        raise InvalidInput(
            f"contains the mask {MASK} but is not the stored address: send the full address again",
            field=ENDPOINT,
        )
    return found


def _moved_token_url(place: KeyPath, config: Document, known: Document) -> str | None:
    """Return what changed its scheme, host or port if that is the token URL which ``place`` is a secret for."""
    given = _at(config, _TOKEN_URL)
    if place[0] != _TOKEN_URL[0] or given in (None, MASK):
        return None
    return None if _leads_to(given) == _leads_to(_at(known, _TOKEN_URL)) else "token URL"


def _kept(value: str, known: object, place: str, *, moved: str | None) -> str:
    if value != MASK:
        raise InvalidInput(f"contains the mask {MASK} within other text: send the full secret", field=place)
    if not isinstance(known, str):
        raise InvalidInput(f"contains the mask {MASK}, but no secret is stored; send the secret itself", field=place)
    if moved is not None:
        raise InvalidInput(
            f"the {moved}'s scheme, host or port changed, so the stored secret cannot be reused; send the secret again",
            field=place,
        )
    return known


def _leads_to(endpoint: object) -> object:
    """Return where an endpoint leads; one that cannot be taken apart is like no other."""
    return None if endpoint is None else origin_of(endpoint) or object()


def _mapped(config: Document, change: Callable[[KeyPath, str], str]) -> Document:
    result = dict(config)
    for key in sorted(_TEXTS & config.keys()):
        if isinstance(config[key], str):
            result[key] = change((key,), config[key])
    for part in _PLAIN:
        if isinstance(config.get(part), dict):
            result[part] = _mapped_part((part,), config[part], change)
    return result


def _mapped_part(place: KeyPath, part: Document, change: Callable[[KeyPath, str], str]) -> Document:
    return {name: _mapped_value((*place, name), value, change) for name, value in part.items()}


def _mapped_value(place: KeyPath, value: Any, change: Callable[[KeyPath, str], str]) -> Any:  # Any: a JSON value
    if isinstance(value, dict):
        return _mapped_part(place, value, change)
    is_plain = not isinstance(value, str) or place[-1].lower() in _PLAIN[place[0]]
    return value if is_plain else change(place, value)


def _at(known: Document, place: KeyPath) -> Any:  # Any: a JSON value
    found: Any = known
    for step in place:
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _put(kept: Document, place: KeyPath, value: str) -> None:
    for step in place[:-1]:
        kept = kept.setdefault(step, {})
    kept[place[-1]] = value
