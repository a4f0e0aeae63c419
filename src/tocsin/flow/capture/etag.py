"""Entity tags for conditional requests, in the forms that both generations of clients send.

Source: ``design/openmetadata-client.md`` section 5: 1.13 sends a strong tag, 2.0 the weak form.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from tocsin.model.entity import Document
from tocsin.model.labels import labels_of
from tocsin.model.list_identity import BOOKKEEPING, MEMBER_LISTS

_NESTING = frozenset({"messageSchema", "requestSchema", "responseSchema", "dataModel"})


def strong_tag(document: Document) -> str:
    """Return the strong entity tag of a document, quotation marks included.

    It depends on the version and on what changes without one: the order of members, bookkeeping, the names of labels.
    """
    parts = [*_unversioned_parts(document), *sorted({label["tagFQN"] for label in labels_of(document)})]
    return _tag(document, orjson.dumps(parts, option=orjson.OPT_SORT_KEYS) if parts else b"")


def _tag(document: Document, suffix: bytes = b"") -> str:
    text = f"{document['version']}-{document['updatedAt']}".encode()
    return f'"{hashlib.sha256(text + suffix).hexdigest()[:16]}"'


def _unversioned_parts(holder: Document) -> list[Any]:  # Any: names, and bookkeeping
    """Return what changes without a version."""
    parts: list[Any] = []
    for key in sorted(holder):
        value = holder[key]
        rule = MEMBER_LISTS.get(key)
        if key in BOOKKEEPING:
            parts.append(value)
        elif key in _NESTING and isinstance(value, dict):
            parts.append(_unversioned_parts(value))
        elif rule is not None and rule.ordered and isinstance(value, list):
            parts += [
                [rule.identity(member), _unversioned_parts(member)] if "children" in member else rule.identity(member)
                for member in value
            ]
    return parts


def weak_tag(document: Document) -> str:
    """Return the weak entity tag of a document: its version."""
    return f'W/"{document["version"]}"'


def content_tag(document: Document) -> str:
    """Return the strong entity tag of a document that has no version: of all that it says."""
    return f'"{hashlib.sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]}"'


def names_tag(if_match: str, tag: str) -> bool:
    """Return whether an ``If-Match`` header (``*``, one tag or a list of them) names a tag.

    A proxy that compresses answers sends the weak form of a strong tag.
    """
    return not {"*", tag}.isdisjoint(one.strip().removeprefix("W/") for one in if_match.split(","))


def holds(if_match: str, document: Document) -> bool:
    """Return whether an ``If-Match`` header (``*``, one tag or a list of them) names this state.

    Clients of 1.13 make the strong tag themselves, from version and time alone; theirs holds as well.
    """
    tags = {tag.strip() for tag in if_match.split(",")}
    return "*" in tags or bool(tags & {strong_tag(document), _tag(document), weak_tag(document)})
