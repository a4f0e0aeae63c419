"""Masks in place of a destination's secrets, in any text: a receiver's answer may repeat what it was sent.

Next: ``delivery/worker/attempt.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from tocsin.delivery.channels.table import CHANNELS
from tocsin.delivery.transport.outcome import DETAIL_LIMIT
from tocsin.model.address import MASK, is_plain_step
from tocsin.model.entity import Document
from tocsin.model.subscription import Destination

_SHORTEST = 4
"""Letters of the shortest text that is looked for: shorter ones occur by chance."""

_FILLED_IN = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_TEXT_OF_JSON = re.compile(r'("[^"]*"\s*:)|"((?:\{\{.*?\}\}|[^"])*)"', re.DOTALL)
_NUMBER = re.compile(r"[0-9]{4,}")


def mask_secrets(text: str, destination: Destination) -> str:
    """Return ``text`` with a mask in place of each secret of the destination, as it is or as JSON and URLs write it.

    A secret of which only the beginning is left at the end of the text, because that was cut off, is masked as well.
    """
    if len(text) < _SHORTEST:
        return text
    spelled = {form for secret in _secrets_of(destination) for form in _spellings(secret)}
    is_cut = len(text.encode()) >= DETAIL_LIMIT
    for secret in sorted(spelled, key=len, reverse=True):
        text = text.replace(secret, MASK)
        text = _without_beginning(text, secret) if is_cut else text
    return text


def _without_beginning(text: str, secret: str) -> str:
    for length in range(min(len(secret), len(text)), _SHORTEST - 1, -1):
        if text.endswith(secret[:length]):
            return text[:-length] + MASK
    return text


def _secrets_of(destination: Destination) -> Iterator[str]:
    config = destination.config.to_wire()
    channel = CHANNELS.get(destination.type)
    for key, plain in channel.secret_maps if channel else ():
        yield from _values(config.get(key), plain)
    for key in channel.secret_texts if channel else ():
        value = config.get(key)
        yield from _constants(value) if key == "bodyTemplate" and value else _values(value, frozenset())
    yield from _of_address(destination.config.endpoint or "")


def _values(value: object, plain: Iterable[str]) -> Iterator[str]:
    """Yield the texts in a value, but for those that are no secret by their name; of several secrets each."""
    if isinstance(value, str):
        yield from (value, *value.split())
    elif isinstance(value, dict):
        document: Document = value
        for name, inner in document.items():
            if name.lower() not in plain:
                yield from _values(inner, plain)


def _constants(template: str) -> Iterator[str]:
    """Yield what a template of a JSON body says itself, but for the names of keys: there may be tokens among it."""
    for name, text in _TEXT_OF_JSON.findall(template):
        if not name:
            yield from filter(None, (part.strip() for part in _FILLED_IN.split(text)))
    yield from _NUMBER.findall(_FILLED_IN.sub("", template))


def _of_address(address: str) -> Iterator[str]:
    """Yield what is secret of an address: its login, the steps of its path that may be tokens, and its parameters."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return
    yield from (one for one in (parts.username, parts.password) if one)
    yield from (step for step in parts.path.split("/") if step and not is_plain_step(step))
    yield from (value for _, value in parse_qsl(parts.query))


def _spellings(secret: str) -> Iterator[str]:
    if len(secret) >= _SHORTEST:
        yield from (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
        yield from (quote(secret, safe=""), quote_plus(secret))
