"""Custom properties of an entity type; each change makes a version of the type.

Removing a property removes its values, with one change per asset. Next: ``catalogue/governance/extension_values.py``.
"""

from __future__ import annotations

from tocsin.catalogue.governance.extension_values import kind_of
from tocsin.errors import InvalidInput
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.stored import Stored


def with_property(record: Record, of_type: Stored, wanted: Document) -> Document:
    """Return a type's document with a custom property added, or in place of the one of its name."""
    if not isinstance(wanted.get("name"), str) or not wanted["name"]:
        raise InvalidInput("a custom property needs a name", field="name")
    held = list(of_type.document.get("customProperties") or ())
    place = next((at for at, one in enumerate(held) if one["name"] == wanted["name"]), len(held))
    before = held[place] if place < len(held) else {}
    given = {key: value for key, value in wanted.items() if value is not None}
    kind = kind_of(record.resolver(), given)
    if before and before["propertyType"]["id"] != kind["id"]:
        raise InvalidInput(f"{wanted['name']} is of another kind already", field="propertyType")
    held[place : place + 1] = [{**before, **given, "propertyType": kind}]
    return of_type.document | {"customProperties": held}


def forget_values(record: Record, old: Stored, fields: Document) -> None:
    """Take the values of properties that a type has no longer from its assets: one change each."""
    left = {one["name"] for one in fields.get("customProperties") or ()}
    for gone in (one["name"] for one in old.document.get("customProperties") or () if one["name"] not in left):
        for asset in record.transaction.extended(fqn.split(old.fqn)[-1], gone):
            extension = {key: value for key, value in asset.document["extension"].items() if key != gone}
            record.change(asset, asset.document | {"extension": extension})
