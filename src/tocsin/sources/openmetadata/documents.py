"""Documents of an OpenMetadata as requests: references by the ids here, and nothing that gives rights or holds secrets.

Next: ``sources/openmetadata/writing.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import takewhile
from typing import Any, TypeGuard
from uuid import UUID

import orjson

from tocsin.clock import LATEST_MS
from tocsin.errors import InvalidInput
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.list_identity import REFERENCE_FIELDS, REFERENCE_LISTS, SERVER_KEPT
from tocsin.model.relations import RELATIONS

_NEVER = frozenset(
    {
        "connection",  # secrets
        "testConnectionResult",
        "pipelines",
        "ingestionRunner",
        "roles",  # rights
        "inheritedRoles",
        "defaultRoles",
        "policies",
        "isAdmin",
        "isBot",
        "personas",
        "defaultPersona",
        "profile",  # addresses of people
        "preferences",
        "users",
        "extension",  # needs the custom properties of the types
        "deleted",
        "provider",
        "dataContract",
        "children",
        "assets",
    }
)
_PERSONS = frozenset({"name", "displayName", "description", "email", "teamType"})
"""The keys that people and teams keep: others say what a person may, or how they are reached."""

_MEMBERS_WITH_CHILDREN = ("columns", "schemaFields", "fields", "children", "tasks", "mlFeatures")


@dataclass(frozen=True)
class SourceDocument:
    """One entity as the source has it."""

    kind: EntityType
    document: Document

    @property
    def id(self) -> str:
        """Its id in the source."""
        return str(self.document.get("id", "")).lower()

    @property
    def fqn(self) -> str:
        """Its full name in the source."""
        return str(self.document.get("fullyQualifiedName") or self.document.get("name") or "")

    @property
    def updated_at_ms(self) -> int:
        """When its state was written; 0 if it does not say."""
        at_ms = self.document.get("updatedAt")
        return at_ms if is_time(at_ms) else 0

    @property
    def author(self) -> str | None:
        """Who wrote its state, as text."""
        name = self.document.get("updatedBy")
        return name if isinstance(name, str) and name else None

    @property
    def is_deleted(self) -> bool:
        """Whether it is soft-deleted there."""
        return self.document.get("deleted") is True


def is_id(text: object) -> bool:
    """Return whether a text is an id as entities and events have it."""
    try:
        return isinstance(text, str) and str(UUID(text)) == text.lower()
    except ValueError:
        return False


def is_time(at_ms: object) -> TypeGuard[int]:
    """Return whether a number is a time in epoch milliseconds that a store can hold."""
    return isinstance(at_ms, int) and not isinstance(at_ms, bool) and 0 <= at_ms <= LATEST_MS


def check_id(source: SourceDocument) -> None:
    """Refuse an entity whose id is none.

    Raises
    ------
    InvalidInput : it is no UUID
    """
    if not is_id(source.document.get("id")):
        raise InvalidInput("its id is no UUID", field="id")


def request_of(source: SourceDocument, ids: Mapping[str, str], labels: Collection[str]) -> Document:
    """Return what a request for the same entity holds.

    References to what is not mirrored, and labels whose tag or term is not here, are left out; where a definition of
    tests is not mirrored, the one of its name here stands for it.
    """
    kind = source.kind
    excluded_keys = _NEVER | SERVER_KEPT | kind.separate_keys | frozenset(RELATIONS.get(kind.name, ()))
    upward = {kind.parent_field(source.document), *kind.required}
    keys = kind.keys - excluded_keys - (frozenset(kind.upward) - upward)
    if kind.name in ("user", "team"):
        keys &= _PERSONS
    request: Document = {}
    for key in keys & source.document.keys():
        value = source.document[key]
        if value is None:
            continue
        kept_value = _value_of(key, value, ids, labels)
        if kept_value is not None:
            request[key] = kept_value
    return request


def is_parent_known(source: SourceDocument, ids: Mapping[str, str]) -> bool:
    """Return whether the entity's parent, if it has one, is mirrored."""
    field = source.kind.parent_field(source.document)
    reference = source.document.get(field) if field else None
    return not isinstance(reference, dict) or str(reference.get("id", "")).lower() in ids


def left_parents(source: SourceDocument) -> frozenset[str]:
    """Return the keys of parents that an entity no longer has, as its full name says: it lies directly under another.

    A document that merely leaves its parent out has none of them.
    """
    kind, document = source.kind, source.document
    field = kind.parent_field(document)
    reference = document.get(field) if field else {}
    fqn_above = reference.get("fullyQualifiedName") if isinstance(reference, dict) else None
    nearer_fields = frozenset(takewhile(lambda key: key != field, (place.field for place in kind.places)))
    return nearer_fields if nearer_fields and fqn_above == fqn.parent(source.fqn) else frozenset()


def digest_of(request: Document) -> str:
    """Return a digest of a request."""
    return sha256(orjson.dumps(request, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _value_of(key: str, value: Any, ids: Mapping[str, str], labels: Collection[str]) -> Any:  # Any: JSON values
    if key in REFERENCE_LISTS:
        members = value if isinstance(value, list) else []
        references = (_reference_of(member, ids) for member in members)
        return [reference for reference in references if reference is not None]
    if key == "testDefinition" and isinstance(value, dict):  # both have the standard ones, whether mapped or not
        return _reference_of(value, ids) or value.get("fullyQualifiedName")
    if key in REFERENCE_FIELDS and isinstance(value, dict):
        return _reference_of(value, ids)
    if key == "certification":
        label = value.get("tagLabel") if isinstance(value, dict) else None
        return value if _is_known(label, labels) else None
    return _without_unknown_labels(value, labels, key=key)


def _reference_of(reference: Any, ids: Mapping[str, str]) -> Document | None:  # Any: as above
    if not isinstance(reference, dict) or reference.get("inherited") or reference.get("deleted"):
        return None
    entity_id = ids.get(str(reference.get("id", "")).lower())
    return {"id": entity_id, "type": reference["type"]} if entity_id and reference.get("type") else None


def _without_unknown_labels(value: Any, labels: Collection[str], *, key: str) -> Any:  # Any: as above
    """Return a value without labels that name nothing here, in members as well."""
    if key == "tags" and isinstance(value, list):
        return [label for label in value if _is_usable(label, labels)]
    if isinstance(value, dict):
        return {name: _without_unknown_labels(below, labels, key=name) for name, below in value.items()}
    if isinstance(value, list) and key in (*_MEMBERS_WITH_CHILDREN, "features", "responseSchema"):
        return [_without_unknown_labels(member, labels, key="") for member in value]
    return value


def _is_usable(label: Any, labels: Collection[str]) -> bool:  # Any: as above
    return _is_known(label, labels) and label.get("labelType") != "Derived"


def _is_known(label: Any, labels: Collection[str]) -> bool:  # Any: as above
    fqn = label.get("tagFQN") if isinstance(label, dict) else None
    return isinstance(fqn, str) and fqn in labels
