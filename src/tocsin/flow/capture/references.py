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
from tocsin.model.stored import Key, Stored, missing

Given = Any  # Any: a reference as clients write it: an FQN, an id, or an object with either

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
            for key in REFERENCE_LISTS
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
            if given := document.get(place.field):
                return place.field, self._above(place, given)
        if kind.may_stand_alone or not kind.places:
            return None
        needed = kind.places[-1].field
        raise InvalidInput(f"{with_article(kind.name)} needs its {needed}", field=needed)

    def one(self, entity_type: str, given: Given) -> Document:
        """Return the full reference to the live entity of this type that ``given`` names.

        Raises
        ------
        NotFound : there is no such live entity
        """
        found = self._reference(entity_type, given)
        if found is None or found.get("deleted"):
            raise missing(entity_type, key_of(given))
        self._check_view(entity_type, str(found["id"]))
        return found

    def stored(self, entity_type: str, given: Given) -> Stored:
        """Return the live entity of this type that ``given`` names, held as shared.

        Raises
        ------
        NotFound : there is no such live entity
        """
        found = self._live(entity_type, given)
        if found is None:
            raise missing(entity_type, key_of(given))
        check_view(self.permit, found)
        return found

    def singles(self, document: Document, old: Document) -> Document:
        """Return the document's single references, each full; those of ``old`` are trusted."""
        return {
            key: self._resolved(key, REFERENCES[key], document[key], [old[key]] if old.get(key) else [])
            for key in REFERENCES
            if document.get(key)
        }

    def _above(self, place: Parentage, given: Given) -> Stored:
        named = given.get("type") if isinstance(given, dict) else None
        if named is not None and named not in place.types:
            raise InvalidInput(
                f"{place.field} must be a {' or a '.join(place.types)}, not a {named}", field=place.field
            )
        for entity_type in (named,) if named else place.types:
            found = self._live(entity_type, given)
            if found is not None:
                check_view(self.permit, found)
                return found
        key = key_of(given)
        raise NotFound(f"{named or ' or '.join(place.types)} {key} not found", entity_type=place.types[0], fqn=key.fqn)

    def _check_view(self, entity_type: str, entity_id: str) -> None:
        if self.permit.is_certain(entity_type, Operation.VIEW_BASIC):
            self.permit.check(entity_type, {Operation.VIEW_BASIC}, {})
        elif (found := self.transaction.find(entity_type, Key.by_id(entity_id), Hold.SHARED)) is not None:
            check_view(self.permit, found)

    def _member(self, field: str, given: Given, known: list[Document]) -> Document:
        if self.strict and field == "owners" and isinstance(given, dict) and "type" not in given:
            raise InvalidInput("each owner needs a type: user or team", field=field)
        return self._resolved(field, REFERENCE_LISTS[field], given, known)

    def _resolved(self, field: str, types: tuple[str, ...], given: Given, known: list[Document]) -> Document:
        wanted = _type_of(field, given, types)
        for reference in known:
            if reference.get("type", wanted) == wanted and _names(given, reference):
                return reference
        if self.strict:
            return self.one(wanted, given)
        return self._reference(wanted, given) or given

    def _live(self, entity_type: str, given: Given) -> Stored | None:
        found = (self.transaction.find(entity_type, key, Hold.SHARED) for key in keys_of(given))
        return next((one for one in found if one is not None and not one.deleted), None)

    def _reference(self, entity_type: str, given: Given) -> Document | None:
        found = (self.transaction.reference(entity_type, key) for key in keys_of(given))
        return next((one for one in found if one is not None), None)


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


def keys_of(given: Given) -> tuple[Key, ...]:
    """Return by what a given reference is looked up, in this order: a name may look like an id.

    Raises
    ------
    InvalidInput : the value is no reference
    """
    key = key_of(given)
    return (key, Key.by_name(given)) if isinstance(given, str) and is_uuid(given) else (key,)


def key_of(given: Given) -> Key:
    """Return by what a given reference is looked up.

    Raises
    ------
    InvalidInput : the value is no reference
    """
    if isinstance(given, str) and given:
        return Key.by_id(given.lower()) if is_uuid(given) else Key.by_name(given)
    if isinstance(given, dict) and isinstance(given.get("id"), str):
        return Key.by_id(given["id"].lower())
    if isinstance(given, dict) and isinstance(given.get("fullyQualifiedName"), str):
        return Key.by_name(given["fullyQualifiedName"])
    if isinstance(given, dict) and isinstance(given.get("name"), str):
        return Key.by_name(_root_fqn(str(given.get("type")), given["name"]))
    raise InvalidInput(f"{given!r} is not a reference: send an object with an id or a fullyQualifiedName")


def _root_fqn(entity_type: str, name: str) -> str:
    kind = ENTITY_TYPES.get(entity_type)
    return fqn.quote(name) if kind and not kind.places else name


def _type_of(field: str, given: Given, types: tuple[str, ...]) -> str:
    wanted = str(given.get("type", types[0])) if isinstance(given, dict) else types[0]
    if wanted not in types:
        raise InvalidInput(f"{field} must be a {' or a '.join(types)}, not a {wanted}", field=field)
    return wanted


def _names(given: Given, reference: Document) -> bool:
    key = key_of(given)
    if key.id:
        return key.id == reference.get("id")
    return key.fqn in (reference.get("fullyQualifiedName"), reference.get("name"))
