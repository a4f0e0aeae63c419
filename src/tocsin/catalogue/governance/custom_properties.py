"""Custom properties of an entity type; each change makes a version of the type.

Removing a property removes its values, with one change per asset; an entity's ``extension`` is validated against them.
The type is an entity itself (``metadata/types``). Source: OpenMetadata's ``TypeRepository``, schemas/type/basic.json.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.ports import Hold, Transaction
from tocsin.flow.capture.references import Resolver
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import with_article
from tocsin.model.pointers import as_stored
from tocsin.model.stored import Key, Stored


def with_property(record: Record, of_type: Stored, new_property: Document) -> Document:
    """Return a type's document with a custom property added, or in place of the one of its name.

    Raises
    ------
    InvalidInput : the property has no name, or exists with another type
    """
    if not isinstance(new_property.get("name"), str) or not new_property["name"]:
        raise InvalidInput("a custom property needs a name", field="name")
    properties = list(of_type.document.get("customProperties") or ())
    place = next((at for at, one in enumerate(properties) if one["name"] == new_property["name"]), len(properties))
    before = properties[place] if place < len(properties) else {}
    definition = {key: value for key, value in new_property.items() if value is not None}
    kind = kind_of(record.resolver(), definition)
    if before and before["propertyType"]["id"] != kind["id"]:
        raise InvalidInput(f"{new_property['name']} already exists with another type", field="propertyType")
    properties[place : place + 1] = [{**before, **definition, "propertyType": kind}]
    return of_type.document | {"customProperties": properties}


def forget_values(record: Record, old: Stored, fields: Document) -> None:
    """Take the values of properties that a type has no longer from its assets: one change each."""
    remaining_names = {one["name"] for one in fields.get("customProperties") or ()}
    old_names = [one["name"] for one in old.document.get("customProperties") or ()]
    for name in (one for one in old_names if one not in remaining_names):
        for asset in record.transaction.entities_with_property(fqn.split(old.fqn)[-1], name):
            extension = {key: value for key, value in asset.document["extension"].items() if key != name}
            record.change(asset, asset.document | {"extension": extension})


Value = Any  # Any: the value of a custom property, of whatever kind
Config = Any  # Any: what a property's definition says beyond its kind
_Kind = Callable[[Value, Config], bool]

_DURATION = re.compile(r"P(?=.)(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?")
_POINTING = frozenset({"entityReference", "entityReferenceList"})
_DATE = re.compile(r"\d{1,4}[-/. ]\d{1,2}[-/. ]\d{1,4}|\w+ \d{1,2},? \d{4}|\d{1,2} \w+ \d{4}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?( ?[AaPp][Mm])?")


def with_checked_extension(transaction: Transaction, entity_type: str, document: Document, old: Document) -> Document:
    """Return the document with the values of its custom properties as they are kept; unchanged ones are not checked.

    Words that were chosen of an ``enum`` are kept in their order in the alphabet, as upstream keeps them; references
    without what answers add to them.

    Raises
    ------
    InvalidInput : there is no such property, or the value is of another kind
    """
    if not document.get("extension"):
        return document
    before = old.get("extension") or {}
    sent_values = {name: as_stored(value) for name, value in document["extension"].items()}
    old_values = {
        name: before[name]
        for name in sent_values.keys() & before.keys()
        if as_stored(before[name]) == sent_values[name]
    }
    changed_values = {name: value for name, value in sent_values.items() if name not in old_values}
    asset_type = transaction.find("type", Key.by_name(entity_type), Hold.SHARED) if changed_values else None
    properties = asset_type.document.get("customProperties") if asset_type else ()
    definitions = {one["name"]: one for one in properties or ()}
    for name, value in changed_values.items() if asset_type else ():
        if name not in definitions:
            there_are = f"valid properties: {', '.join(definitions)}" if definitions else "it has none"
            raise InvalidInput(
                f"{with_article(entity_type)} has no custom property {name}; {there_are}", field=f"extension.{name}"
            )
        _check_value(name, value, definitions[name])
        _check_targets(transaction, name, value, definitions[name])
        if _kind_named(definitions[name]) == "enum" and isinstance(value, list):
            changed_values[name] = sorted(value)
    return document | {"extension": sent_values | old_values | changed_values}


def kind_of(resolver: Resolver, definition: Document) -> Document:
    """Return a reference to the kind that a custom property is defined to be.

    Raises
    ------
    InvalidInput : it says no kind, or not which words an ``enum`` is one of
    NotFound : there is no such kind
    """
    reference = definition.get("propertyType")
    if not reference:
        raise InvalidInput("a custom property needs its propertyType", field="propertyType")
    kind = resolver.one("type", {"type": "type", **reference} if isinstance(reference, dict) else reference)
    if kind["name"] not in KINDS:
        raise NotFound(f"unknown property type {kind['name']}; valid types: {', '.join(KINDS)}")
    if kind["name"] == "enum" and not _words(_config_of(definition)):
        raise InvalidInput("an enum needs its values: config.values", field="customPropertyConfig")
    return kind


def _kind_named(definition: Document) -> str:
    return str(definition.get("propertyType", {}).get("name"))


def _config_of(definition: Document) -> Config:
    config = definition.get("customPropertyConfig")
    return config.get("config") if isinstance(config, dict) else None


def _check_value(name: str, value: Value, definition: Document) -> None:
    kind = _kind_named(definition)
    config = _config_of(definition)
    if kind in KINDS and not KINDS[kind](value, config):
        words = f": {', '.join(_words(config))}" if kind == "enum" else ""
        expectation = f"{with_article(kind)}{words}"
        raise InvalidInput(f"the custom property {name} must be {expectation}", field=f"extension.{name}")


def _check_targets(transaction: Transaction, name: str, value: Value, definition: Document) -> None:
    if _kind_named(definition) not in _POINTING:
        return
    for reference in value if isinstance(value, list) else [value]:
        if (
            reference["type"] in ENTITY_TYPES
            and transaction.reference(reference["type"], Key.by_id(reference["id"])) is None
        ):
            raise NotFound(
                f"the custom property {name} refers to {reference['type']} {reference['id']}, which does not exist"
            )


def _is_text(value: Value, _config: Config) -> bool:
    return isinstance(value, str)


def _is_integer(value: Value, _config: Config) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Value, _config: Config) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _fits(*patterns: re.Pattern[str]) -> _Kind:
    return lambda value, _config: isinstance(value, str) and all(pattern.search(value) for pattern in patterns)


def _is_enum(value: Value, config: Config) -> bool:
    words = value if isinstance(value, list) else [value]
    several = isinstance(config, dict) and config.get("multiSelect") is True
    return all(one in _words(config) for one in words) and (several or len(words) <= 1)


def _words(config: Config) -> list[str]:
    values = config.get("values") if isinstance(config, dict) else None
    return [one for one in values if isinstance(one, str)] if isinstance(values, list) else []


def _is_reference(value: Value, config: Config) -> bool:
    if not isinstance(value, dict) or value.get("type") not in (config if isinstance(config, list) else ENTITY_TYPES):
        return False
    return isinstance(value.get("id"), str) and bool(_UUID.fullmatch(value["id"]))


def _are_references(value: Value, config: Config) -> bool:
    return isinstance(value, list) and all(_is_reference(one, config) for one in value)


def _is_interval(value: Value, config: Config) -> bool:
    return isinstance(value, dict) and all(_is_integer(value.get(end), config) for end in ("start", "end"))


def _is_link(value: Value, _config: Config) -> bool:
    return isinstance(value, dict) and isinstance(value.get("url"), str) and ":" in value["url"]


def _is_table(value: Value, config: Config) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("rows"), list):
        return False
    columns = set(config.get("columns") or ()) if isinstance(config, dict) else set()
    return all(isinstance(row, dict) and row.keys() <= columns for row in value["rows"])


KINDS: dict[str, _Kind] = {
    "string": _is_text,
    "markdown": _is_text,
    "sqlQuery": _is_text,
    "integer": _is_integer,
    "number": _is_number,
    "timestamp": _is_integer,
    "email": _fits(re.compile(r"^[^@\s]+@[^@\s]+$")),
    "date-cp": _fits(_DATE),
    "dateTime-cp": _fits(_DATE, _CLOCK),
    "time-cp": _fits(_CLOCK),
    "duration": lambda value, _config: isinstance(value, str) and bool(_DURATION.fullmatch(value)),
    "enum": _is_enum,
    "entityReference": _is_reference,
    "entityReferenceList": _are_references,
    "timeInterval": _is_interval,
    "hyperlink-cp": _is_link,
    "table-cp": _is_table,
}
"""What a custom property can be, and whether a value is one."""


def standard_types(entity_types: Iterator[str]) -> Iterator[Document]:
    """Yield the requests for the types that every catalogue has: one per type of entity, one per kind of property."""
    for name in entity_types:
        yield _type(name, "entity", f"Custom properties of {name}.")
    for name in KINDS:
        yield _type(name, "field", f"Custom property type {name}.")


def _type(name: str, category: str, description: str) -> Document:
    return {"name": name, "category": category, "nameSpace": category, "description": description, "schema": "{}"}
