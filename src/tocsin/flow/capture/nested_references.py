"""Entity references nested inside a document, deeper than its top-level keys.

Examples are a term's related terms, a test's definition and suite, and custom properties that hold references. Usage
history (``lifeCycle``) and names of things that may not be catalogued (``mlFeatures``) are not references.
Next: ``store/catalogue/relations/projections.py``, which indexes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document, map_objects
from tocsin.model.fqn import split
from tocsin.model.pointers import is_reference, references_in

KEYS = ("customProperties", "extension", "relatedTerms", "testDefinition", "testSuite")
"""The keys that hold them."""

CONTAINS = {"testDefinition": "testDefinition", "testSuite": "testSuite"}
"""Per type, the key by which test cases say that they cannot be without one: what goes with it when it goes."""

_NEEDED = {"customProperties": "propertyType", "relatedTerms": "term"}
"""Per list, the key without which a member says nothing."""

_LONGEST_ID = 36
_NAMES = frozenset({"name", "fullyQualifiedName", "displayName"})
Value = Any  # Any: a JSON value


def pointers(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the key and the id of everything that a document points to from within."""
    for key in KEYS:
        if key in document:
            yield from ((key, one) for one in _ids(document[key]))


def changes_without(document: Document, gone_ids: Collection[str]) -> Document:
    """Return the keys that change when these are gone for good, as they are then; an empty one goes.

    Raises
    ------
    InvalidInput : a custom property is of a kind that would be gone
    """
    changed: Document = {}
    for key in ("customProperties", "extension", "relatedTerms"):
        if key in document and any(one in gone_ids for one in _ids(document[key])):
            changed[key] = _without_gone(key, document[key], gone_ids)
    return changed


def renamed_references(document: Document, names: Mapping[str, str]) -> Document:
    """Return the keys that call something by its name, with the new names by id."""
    parts = {key: document[key] for key in KEYS if key in document and names.keys() & set(_ids(document[key]))}
    return {key: map_objects(value, partial(_with_new_name, names=names)) for key, value in parts.items()}


def without_names(value: Value) -> Value:
    """Return a value without the names of what it refers to: what a rename leaves as it is."""

    def nameless(holder: Document) -> Document:
        return {key: one for key, one in holder.items() if key not in _NAMES} if _is_reference(holder) else holder

    return map_objects(value, nameless)


def _ids(value: Value) -> Iterator[str]:
    return (one["id"] for one in references_in(value) if _is_reference(one))


def _is_reference(value: Document) -> bool:
    return is_reference(value) and len(value["id"]) <= _LONGEST_ID


def _without_gone(key: str, value: Value, gone_ids: Collection[str]) -> Value:
    if key == "extension":
        properties = {name: _in_property(one, gone_ids) for name, one in value.items()}
        return {name: one for name, one in properties.items() if one is not None}
    points = [one for one in value if isinstance(one, dict) and isinstance(one.get(_NEEDED[key]), dict)]
    losing = [one for one in points if one[_NEEDED[key]].get("id") in gone_ids]
    if key == "customProperties" and losing:
        raise InvalidInput(
            f"custom property {losing[0].get('name')} uses this type; delete the property first", field=key
        )
    return [one for one in value if one not in losing]


def _in_property(value: Value, gone_ids: Collection[str]) -> Value:
    if isinstance(value, list):
        return [one for one in value if not (isinstance(one, dict) and one.get("id") in gone_ids)] or None
    return None if isinstance(value, dict) and value.get("id") in gone_ids else value


def _with_new_name(holder: Document, names: Mapping[str, str]) -> Document:
    if not (_is_reference(holder) and holder["id"] in names and "fullyQualifiedName" in holder):
        return holder
    fqn = names[holder["id"]]
    return holder | {"fullyQualifiedName": fqn} | ({"name": split(fqn)[-1]} if "name" in holder else {})
