"""Resolution of references, given by name or id, to full entity references.

References that the entity already held are copied, so only new ones are looked up.
Next: ``flow/capture/prepare.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.authorization import EVERYTHING, Permit, check_view
from tocsin.flow.capture.ports import Hold, Transaction
from tocsin.model import fqn
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType, Parentage
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import REFERENCE_LISTS, REFERENCES
from tocsin.model.phrases import with_article
from tocsin.model.stored import Key, Stored, not_found

Given = Any  # Any: a reference as clients write it: an FQN, an id, or an object with either

_LISTS, _SINGLES = frozenset(REFERENCE_LISTS), frozenset(REFERENCES)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True)
class Resolver:
    """Completes references.

    ``strict`` rejects a reference to nothing; a history's whole states keep theirs unchanged. A newly named entity must
    be visible to the actor, because a full reference reveals its name.
    """

    transaction: Transaction
    strict: bool = True
    permit: Permit = EVERYTHING

    def lists(self, document: Document, old: Document) -> Document:
        """Return the document's lists of references, each member full; those of ``old`` are trusted."""
        return {
            key: [self._member(key, given, old.get(key) or []) for given in document[key]]
            for key in (() if _LISTS.isdisjoint(document) else REFERENCE_LISTS)
            if document.get(key)
        }

    def parent(self, kind: EntityType, document: Document) -> tuple[str, Stored] | None:
        """Return the live entity that ``document`` names as its parent, after the key that names it.

        None when this type needs no parent and the document names none.

        Raises
        ------
        InvalidInput : the key that names the parent is missing
        NotFound : there is no such live entity
        """
        for place in kind.places:
            if value := document.get(place.field):
                return place.field, self._above(place, value)
        if kind.may_stand_alone or not kind.places:
            return None
        field = kind.places[-1].field
        raise InvalidInput(f"{with_article(kind.name)} needs its {field}", field=field)

    def one(self, entity_type: str, value: Given) -> Document:
        """Return the full reference to the live entity of this type that ``value`` names.

        Raises
        ------
        NotFound : there is no such live entity
        """
        reference = self._reference(entity_type, value)
        if reference is None or reference.get("deleted"):
            raise not_found(entity_type, key_of(value))
        self._check_view(entity_type, str(reference["id"]))
        return reference

    def live_entity(self, entity_type: str, value: Given) -> Stored:
        """Return the live entity of this type that ``value`` names, held as shared.

        Raises
        ------
        NotFound : there is no such live entity
        """
        entity = self._live(entity_type, value)
        if entity is None:
            raise not_found(entity_type, key_of(value))
        check_view(self.permit, entity)
        return entity

    def singles(self, document: Document, old: Document) -> Document:
        """Return the document's single references, each full; those of ``old`` are trusted."""
        return {
            key: self._resolve(key, REFERENCES[key], document[key], [old[key]] if old.get(key) else [])
            for key in (() if _SINGLES.isdisjoint(document) else REFERENCES)
            if document.get(key)
        }

    def _above(self, place: Parentage, value: Given) -> Stored:
        named_type = value.get("type") if isinstance(value, dict) else None
        if named_type is not None and named_type not in place.types:
            raise InvalidInput(
                f"{place.field} must be a {' or a '.join(place.types)}, not a {named_type}", field=place.field
            )
        for entity_type in (named_type,) if named_type else place.types:
            entity = self._live(entity_type, value)
            if entity is not None:
                check_view(self.permit, entity)
                return entity
        key = key_of(value)
        raise NotFound(
            f"{named_type or ' or '.join(place.types)} {key} not found", entity_type=place.types[0], fqn=key.fqn
        )

    def _check_view(self, entity_type: str, entity_id: str) -> None:
        if self.permit.is_certain(entity_type, Operation.VIEW_BASIC):
            self.permit.check(entity_type, {Operation.VIEW_BASIC}, {})
        elif (entity := self.transaction.find(entity_type, Key.by_id(entity_id), Hold.SHARED)) is not None:
            check_view(self.permit, entity)

    def _member(self, field: str, value: Given, old_references: list[Document]) -> Document:
        if self.strict and field == "owners" and isinstance(value, dict) and "type" not in value:
            raise InvalidInput("each owner needs a type: user or team", field=field)
        return self._resolve(field, REFERENCE_LISTS[field], value, old_references)

    def _resolve(self, field: str, types: tuple[str, ...], value: Given, old_references: list[Document]) -> Document:
        entity_type = _type_of(field, value, types)
        for reference in old_references:
            if reference.get("type", entity_type) == entity_type and _names(value, reference):
                return reference
        if self.strict:
            return self.one(entity_type, value)
        return self._reference(entity_type, value) or value

    def _live(self, entity_type: str, value: Given) -> Stored | None:
        entities = (self.transaction.find(entity_type, key, Hold.SHARED) for key in keys_of(value))
        return next((one for one in entities if one is not None and not one.is_deleted), None)

    def _reference(self, entity_type: str, value: Given) -> Document | None:
        references = (self.transaction.reference(entity_type, key) for key in keys_of(value))
        return next((one for one in references if one is not None), None)


def reference_to(stored: Stored) -> Document:
    """Return the reference to an entity, as documents hold it."""
    return {
        "id": stored.id,
        "type": stored.entity_type,
        "name": stored.document["name"],
        "fullyQualifiedName": stored.fqn,
    }


def is_uuid(text: str) -> bool:
    """Return whether a text is an id rather than a name."""
    return _UUID.fullmatch(text) is not None


def keys_of(value: Given) -> tuple[Key, ...]:
    """Return by what a given reference is looked up, in this order: a name may look like an id.

    Raises
    ------
    InvalidInput : the value is no reference
    """
    key = key_of(value)
    return (key, Key.by_name(value)) if isinstance(value, str) and is_uuid(value) else (key,)


def key_of(value: Given) -> Key:
    """Return by what a given reference is looked up.

    Raises
    ------
    InvalidInput : the value is no reference
    """
    if isinstance(value, str) and value:
        return Key.by_id(value.lower()) if is_uuid(value) else Key.by_name(value)
    if isinstance(value, dict) and isinstance(value.get("id"), str):
        return Key.by_id(value["id"].lower())
    if isinstance(value, dict) and isinstance(value.get("fullyQualifiedName"), str):
        return Key.by_name(value["fullyQualifiedName"])
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return Key.by_name(_root_fqn(str(value.get("type")), value["name"]))
    raise InvalidInput(f"{value!r} is not a reference: send an object with an id or a fullyQualifiedName")


def _root_fqn(entity_type: str, name: str) -> str:
    kind = ENTITY_TYPES.get(entity_type)
    return fqn.quote(name) if kind and not kind.places else name


def _type_of(field: str, value: Given, types: tuple[str, ...]) -> str:
    entity_type = str(value.get("type", types[0])) if isinstance(value, dict) else types[0]
    if entity_type not in types:
        raise InvalidInput(f"{field} must be a {' or a '.join(types)}, not a {entity_type}", field=field)
    return entity_type


def _names(value: Given, reference: Document) -> bool:
    key = key_of(value)
    if key.id:
        return key.id == reference.get("id")
    return key.fqn in (reference.get("fullyQualifiedName"), reference.get("name"))
