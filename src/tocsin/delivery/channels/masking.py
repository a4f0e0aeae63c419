"""Secrets of destinations: replaced by masks before an alert is stored as an entity, and restored for sending.

Each channel says which parts of its configuration are secret (``delivery/channels/table.py``); the secret part of an
address (``model/address.py``) always is. They are encrypted together with the whole address, and bound to its scheme,
host and port: if those change, a mask keeps nothing. Credentials for tokens are bound to the token URL's, too.
Next: ``store/catalogue/alerts/subscriptions.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tocsin.delivery.channels.table import CHANNELS
from tocsin.errors import InvalidInput, StaleSecrets
from tocsin.model.address import MASK, kept_url, masked_origin, masked_url, origin_of
from tocsin.model.entity import Document

ENDPOINT = "endpoint"
_PLAIN = {key: plain for one in CHANNELS.values() for key, plain in one.secret_maps}
"""What is no secret by its name, below each key whose values are secret, of any channel."""
_TEXTS = frozenset(key for one in CHANNELS.values() for key in one.secret_texts)
KeyPath = tuple[str, ...]
_TOKEN_URL: KeyPath = ("authType", "tokenUrl")


def split_secrets(config: Document, stored_secrets: Document) -> tuple[Document, Document]:
    """Return ``config`` with masks in place of its secrets, and the secrets by path.

    ``stored_secrets`` holds the secrets stored so far: a mask in ``config`` keeps the one at its path, as long as the
    endpoint has the same origin.

    Raises
    ------
    InvalidInput : a mask without a known secret, or for a secret that was given for another receiver
    """
    endpoint = _endpoint(config.get(ENDPOINT), stored_secrets.get(ENDPOINT))
    is_new_target = _leads_to(endpoint) != _leads_to(stored_secrets.get(ENDPOINT))
    secrets: Document = {}

    def mask(place: KeyPath, value: str) -> str:
        target = "endpoint" if is_new_target else _moved_token_url(place, config, stored_secrets)
        _put(
            secrets,
            place,
            _stored_secret(value, _value_at(stored_secrets, place), ".".join(place), moved=target)
            if MASK in value
            else value,
        )
        return MASK

    masked_config = _map_texts(config, mask)
    if isinstance(endpoint, str):
        masked_config[ENDPOINT] = masked_url(endpoint, with_path=True)
        if secrets or masked_config[ENDPOINT] != endpoint:
            secrets[ENDPOINT] = endpoint
    return masked_config, secrets


def holds_mask(config: Document) -> bool:
    """Return whether a mask is in place of a secret: the stored one has to be known."""
    endpoint = config.get(ENDPOINT)
    texts: list[str] = [endpoint] if isinstance(endpoint, str) else []

    def note(_place: KeyPath, value: str) -> str:
        texts.append(value)
        return value

    _map_texts(config, note)
    return any(MASK in text for text in texts)


def changed_secret_paths(secrets: Document, stored_secrets: Document) -> Iterator[KeyPath]:
    """Yield the places of the secrets that are not the stored ones."""
    for key, value in secrets.items():
        if isinstance(value, dict):
            inner = stored_secrets.get(key)
            yield from ((key, *rest) for rest in changed_secret_paths(value, inner if isinstance(inner, dict) else {}))
        elif value != stored_secrets.get(key):
            yield (key,)


def with_secrets(config: Document, stored_secrets: Document) -> Document:
    """Return ``config`` with the stored secrets in place of their masks, for sending.

    Raises
    ------
    StaleSecrets : the secrets belong to another receiver than ``config`` names: a change is in progress, or was
        interrupted
    """
    endpoint = stored_secrets.get(ENDPOINT)
    if endpoint is not None and _leads_to(endpoint) != masked_origin(config.get(ENDPOINT)):
        raise StaleSecrets()
    if endpoint is None and MASK in str(config.get(ENDPOINT)):
        raise StaleSecrets()
    clear = _map_texts(config, lambda place, value: _value_at(stored_secrets, place) or value)
    return clear if endpoint is None else clear | {ENDPOINT: endpoint}


def _endpoint(endpoint: object, stored_endpoint: object) -> object:
    """Return the endpoint that is meant: the stored one where ``endpoint`` is what is shown of it."""
    if not isinstance(endpoint, str) or MASK not in endpoint:
        return endpoint
    full_endpoint = kept_url(endpoint, stored_endpoint, with_path=True)
    if full_endpoint is None:
        raise InvalidInput(
            f"contains the mask {MASK} but is not the stored address: send the full address again",
            field=ENDPOINT,
        )
    return full_endpoint


def _moved_token_url(place: KeyPath, config: Document, stored_secrets: Document) -> str | None:
    """Return what changed its scheme, host or port if that is the token URL which ``place`` is a secret for."""
    token_url = _value_at(config, _TOKEN_URL)
    if place[0] != _TOKEN_URL[0] or token_url in (None, MASK):
        return None
    return None if _leads_to(token_url) == _leads_to(_value_at(stored_secrets, _TOKEN_URL)) else "token URL"


def _stored_secret(value: str, stored: object, place: str, *, moved: str | None) -> str:
    if value != MASK:
        raise InvalidInput(f"contains the mask {MASK} within other text: send the full secret", field=place)
    if not isinstance(stored, str):
        raise InvalidInput(f"contains the mask {MASK}, but no secret is stored; send the secret itself", field=place)
    if moved is not None:
        raise InvalidInput(
            f"the {moved}'s scheme, host or port changed, so the stored secret cannot be reused; send the secret again",
            field=place,
        )
    return stored


def _leads_to(endpoint: object) -> object:
    """Return where an endpoint leads; one that cannot be taken apart is like no other."""
    return None if endpoint is None else origin_of(endpoint) or object()


def _map_texts(config: Document, change: Callable[[KeyPath, str], str]) -> Document:
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


def _value_at(document: Document, place: KeyPath) -> Any:  # Any: a JSON value
    node: Any = document
    for step in place:
        node = node.get(step) if isinstance(node, dict) else None
    return node


def _put(document: Document, place: KeyPath, value: str) -> None:
    for step in place[:-1]:
        document = document.setdefault(step, {})
    document[place[-1]] = value
