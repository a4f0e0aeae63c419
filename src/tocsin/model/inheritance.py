"""Inheritance of owners, domains and reviewers from the nearest ancestor that has them; of a product, from its domain.

Inherited values are computed on reading and when an event is made, marked ``inherited``, and never stored.
Source: OpenMetadata's ``EntityRepository.setInheritedFields``. Next: ``store/catalogue/relations/inheritance.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache

from tocsin.model import fqn as names
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import PRINCIPALS

Entry = tuple[str, str]
"""Type and FQN of an entity."""

Heritage = dict[str, list[Document]]
"""Full references by the key under which they are inherited."""

INHERITED_KEYS = ("owners", "domains", "reviewers")
"""What is inherited. Each key by itself: owners may come from the schema, domains from the service."""

INHERITABLE = frozenset({*PRINCIPALS, "domain"})
"""The types of entity that these keys name."""

_UNDER_A_TABLE = ("testCase", "testSuite")

BY_REFERENCE = {"dataProduct": ("domains", "domain")}
"""Per type that nothing contains: the key whose first reference it inherits from, and the type of that."""


@cache
def types_above(entity_type: str) -> tuple[str, ...]:
    """Return every type that an entity of this type may have as an ancestor."""
    places = ENTITY_TYPES[entity_type].places
    nearest = {parent_type for place in places for parent_type in place.types} | (
        {"table"} if entity_type in _UNDER_A_TABLE else set()
    )
    nearest |= {BY_REFERENCE[entity_type][1]} if entity_type in BY_REFERENCE else set()
    types = set(nearest)
    for parent_type in nearest - {entity_type}:
        types |= set(types_above(parent_type))
    return tuple(sorted(types))


def ancestors(entry: Entry) -> Iterator[str]:
    """Yield the FQNs of an entity's ancestors that are in its own, the nearest first."""
    parts = names.split(entry[1])
    for length in range(len(parts) - 1, 0, -1):
        yield names.join(parts[:length])


def lacks(kind: EntityType, document: Document) -> bool:
    """Return whether a document may inherit: it has a key of these, with nothing under it, and may have ancestors."""
    return bool(types_above(kind.name)) and any(key in kind.keys and not document.get(key) for key in INHERITED_KEYS)


def place_of(entity_type: str, document: Document) -> Entry:
    """Return the place at which an entity inherits: its own, or one below what it inherits from by reference."""
    key, above = BY_REFERENCE.get(entity_type, ("", ""))
    reference = next(iter(document.get(key) or ()), None) if key else None
    fqn = document["fullyQualifiedName"]
    if isinstance(reference, dict) and reference.get("fullyQualifiedName"):
        return above, names.child(reference["fullyQualifiedName"], str(document.get("name")))
    return entity_type, fqn


def nearest(entry: Entry, values_by_fqn: Mapping[str, Heritage]) -> Heritage:
    """Return what an entity inherits; ``values_by_fqn`` holds the values of each ancestor by FQN."""
    heritage: Heritage = {}
    for above in ancestors(entry):
        for key, values in values_by_fqn.get(above, {}).items():
            heritage.setdefault(key, values)
    return heritage


def with_inherited(kind: EntityType, document: Document, heritage: Heritage) -> Document:
    """Return a document with its inherited values, each marked; own values stay."""
    added = {
        key: [{**reference, "inherited": True} for reference in references]
        for key, references in heritage.items()
        if key in kind.keys and not document.get(key)
    }
    return document | added if added else document


def with_asked(
    entity_type: str, document: Document, find: Callable[[Entry], Heritage], keys: Collection[str] = INHERITED_KEYS
) -> Document:
    """Return a document with its inherited values under these keys, for policies; ``find`` looks them up."""
    kind, fqn = ENTITY_TYPES.get(entity_type), document.get("fullyQualifiedName")
    if kind is None or not isinstance(fqn, str) or not types_above(entity_type):
        return document
    if all(key not in kind.keys or document.get(key) for key in keys):
        return document
    return with_inherited(kind, document, find(place_of(entity_type, document)))


def own_references(references: Collection[Document]) -> list[Document]:
    """Return the references without those that a person read as inherited and sent back."""
    return [one for one in references if not (isinstance(one, dict) and one.get("inherited") is True)]


def inherits_owners(event: ChangeEvent) -> bool:
    """Return whether the owners of an event's entity are inherited."""
    return is_inherited("owners", event)


def is_inherited(key: str, event: ChangeEvent) -> bool:
    """Return whether all that an event's entity has under a key is inherited."""
    references = (event.entity or {}).get(key) if key in INHERITED_KEYS else None
    is_some = isinstance(references, list) and bool(references)
    return is_some and all(isinstance(one, dict) and one.get("inherited") is True for one in references or ())
