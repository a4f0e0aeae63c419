"""Python reference for the search index entries that Spark computes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tocsin.model import fqn as names
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import own_references
from tocsin.search.fields import EXISTS, ONLY_EXISTS, PART, REFERENCE_KEYS, REFERENCES, SCALARS, TEXT_LISTS
from tocsin.search.indexes import SEARCHED
from tocsin.search.nodes import ANY_ENTRY
from tocsin.search.tokens import name_of, name_words, token_of, words_of

Entry = dict[str, Any]


def entry_of(entity_type: str, document: Document, *, log_offset: int = 1, is_gone: bool = False) -> Entry:
    """Return the entry of an entity."""
    members = list(_members(document))
    tiers = [tag for tag in _tags(document) if tag.startswith("Tier.")]
    name, display = document["name"], document.get("displayName") or ""
    fqn = document.get("fullyQualifiedName") or name
    service = document.get("service") or {}
    texts = [document.get(key) or "" for key in ("description", "email", "query")]
    return {
        "log_offset": log_offset,
        "entity_id": document["id"],
        "entity_type": entity_type,
        "is_gone": is_gone,
        "deleted": bool(document.get("deleted")),
        "usage_count": ((document.get("usageSummary") or {}).get("weeklyStats") or {}).get("count") or 0,
        "updated_at_ms": document.get("updatedAt") or 0,
        "fqn": fqn,
        "fqn_key": fqn.lower(),
        "name_key": name.lower(),
        "name_words": name_of(name),
        "display_key": display.lower(),
        "display_words": name_of(display),
        "service": service.get("name"),
        "service_type": document.get("serviceType"),
        "tier": tiers[0] if tiers else None,
        "name": name_words(name),
        "display_name": name_words(display),
        "path": _words(fqn),
        "members": _join(name_words(member.get(key) or "") for key in ("name", "displayName") for member in members),
        "description": _words(" ".join(texts)),
        "member_texts": _join(_words(member.get("description") or "") for member in members),
        "keys": " ".join(sorted(set(_keys(entity_type, document, members, tiers)))),
    }


def _keys(entity_type: str, document: Document, members: list[Document], tiers: list[str]) -> Iterator[str]:
    yield ANY_ENTRY
    fqn = document.get("fullyQualifiedName") or document["name"]
    for part in names.split(fqn):
        yield token_of(PART, part)
    yield token_of("fullyQualifiedName", fqn)
    yield token_of("name", document["name"])
    yield token_of("entityType", entity_type)
    if document.get("displayName") is not None:
        yield token_of("displayName", document["displayName"])
    for field, path in SCALARS.items():
        value = _value_at(document, path)
        if value is None and field == "isBot" and entity_type in ("user", "team"):
            value = False
        if value is not None:
            yield token_of(field, str(value).lower() if isinstance(value, bool) else str(value))
            yield token_of(EXISTS, field)
    yield from (token_of(field, value) for field in TEXT_LISTS for value in document.get(field) or ())
    yield from _reference_keys(document)
    member_tags = [tag for member in members for tag in _tags(member)]
    for tag in member_tags:
        yield token_of("columns.tags.tagFQN", tag)
    for tag in [*member_tags, *_tags(document)]:
        yield token_of("tags.tagFQN", tag)
    for tag in tiers:
        yield token_of("tier.tagFQN", tag)
    values = {
        **document,
        **{key: own_references(document.get(key) or ()) for key in REFERENCES},
        "tags": [*member_tags, *_tags(document)],
        "tier": tiers,
    }
    yield from (token_of(EXISTS, field) for field in ONLY_EXISTS if values.get(field))


def _reference_keys(document: Document) -> Iterator[str]:
    for key in REFERENCES:
        for reference in own_references(document.get(key) or ()):
            yield from (token_of(f"{key}.{part}", reference[part]) for part in REFERENCE_KEYS if part in reference)


def _members(document: Document) -> Iterator[Document]:
    lists_by_type = (ENTITY_TYPES[name].member_lists(document) for name in sorted(SEARCHED))
    lists = {id(members): members for of_type in lists_by_type for members in of_type}
    level = [one for members in lists.values() for one in members]
    while level:
        yield from level
        level = [child for one in level for child in one.get("children") or ()]


def _tags(holder: Document) -> list[str]:
    return [label["tagFQN"] for label in holder.get("tags") or ()]


def _value_at(document: Document, path: tuple[str, ...]) -> Any:
    value: Any = document
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _join(texts: Iterable[str]) -> str:
    return " ".join(text for text in texts if text)


def _words(text: str) -> str:
    return " ".join(words_of(text))
