"""Compatibility of JSON Schemas: whether everything that one schema allows is valid by another.

Judged are the clear cases: types, required properties, closed sets of values and of properties, and limits, at any
depth of ``properties`` and ``items``. What schemas combine (``anyOf``, ``$ref``, ``if`` …) is not judged.

Source: JSON Schema 2020-12, "Validation" sections 6.1 to 6.5, and "Core" sections 10.3.1 and 10.3.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from tocsin.model.compatibility.budget import ComparisonBudget, NotJudged, parse_json
from tocsin.model.compatibility.incompatibility import Incompatibility

_Schema = dict[str, Any]  # Any: values of whatever form
_ALL_TYPES = frozenset({"null", "boolean", "object", "array", "number", "string"})
_COMBINED = frozenset(
    {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "patternProperties"}
)
_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


def problem_between(reader: str, writer: str) -> Incompatibility | None:
    """Return what the schema ``writer`` allows and ``reader`` does not, both as texts; None if nothing is found.

    Raises
    ------
    NotJudged : a text is no schema
    """
    read, written = parse_json(reader), parse_json(writer)
    if not isinstance(read, dict) or not isinstance(written, dict):
        raise NotJudged
    return next(_problems(read, written, "", ComparisonBudget(), 0), None)


def _problems(
    reader: _Schema, writer: _Schema, path: str, budget: ComparisonBudget, depth: int
) -> Iterator[Incompatibility]:
    budget.take(depth)
    if not _COMBINED.isdisjoint(reader) or not _COMBINED.isdisjoint(writer):
        return
    for find in (_type_problem, _value_problem, _requirement_problem, _property_problem, _limit_problem):
        problem = find(reader, writer)
        if problem is not None:
            yield problem.at(path)
    read, writer_properties = _properties(reader), _properties(writer)
    for name in sorted(read.keys() & writer_properties.keys()):
        if isinstance(read[name], dict) and isinstance(writer_properties[name], dict):
            inner_path = f"{path}.{name}" if path else name
            yield from _problems(read[name], writer_properties[name], inner_path, budget, depth + 1)
    read_items, written_items = reader.get("items"), writer.get("items")
    if isinstance(read_items, dict) and isinstance(written_items, dict):
        yield from _problems(read_items, written_items, f"{path}[]", budget, depth + 1)


def _type_problem(reader: _Schema, writer: _Schema) -> Incompatibility | None:
    read, written = _types_in(reader), _types_in(writer)
    new = sorted(one for one in written if one not in read and not (one == "integer" and "number" in read))
    if not new:
        return None
    types = " or ".join(sorted(read))
    return Incompatibility(
        to_reader=f"may be {new[0]} now, not only {types}",
        to_writer=f"must be {types} now, {new[0]} is no longer accepted",
    )


def _types_in(schema: _Schema) -> frozenset[str]:
    types = schema.get("type", list(_ALL_TYPES))
    return frozenset([types] if isinstance(types, str) else map(str, types))


def _value_problem(reader: _Schema, writer: _Schema) -> Incompatibility | None:
    if "enum" not in reader or not isinstance(reader["enum"], list):
        return None
    if not isinstance(writer.get("enum"), list):
        if "const" in writer:
            return None
        return Incompatibility(
            "may be any value now, not only those of a list", "must be one of a list now, not any value"
        )
    new = [one for one in writer["enum"] if one not in reader["enum"]]
    return Incompatibility(f"may be {new[0]!r} now", f"{new[0]!r} is no longer accepted") if new else None


def _requirement_problem(reader: _Schema, writer: _Schema) -> Incompatibility | None:
    required, written = (set(map(str, one.get("required") or ())) for one in (reader, writer))
    missing = sorted(required - written)
    if not missing:
        return None
    return Incompatibility(f"property {missing[0]} is no longer required", f"property {missing[0]} is required now")


def _property_problem(reader: _Schema, writer: _Schema) -> Incompatibility | None:
    if reader.get("additionalProperties") is not False:
        return None
    if writer.get("additionalProperties") is not False:
        return Incompatibility("may have any further properties now", "further properties are no longer accepted")
    new = sorted(_properties(writer).keys() - _properties(reader).keys())
    if not new:
        return None
    return Incompatibility(f"may have the property {new[0]} now", f"property {new[0]} is no longer accepted")


def _limit_problem(reader: _Schema, writer: _Schema) -> Incompatibility | None:
    for keys, is_wider in ((_LEAST, _is_below), (_MOST, _is_above)):
        for key in keys:
            limit = reader.get(key)
            if _is_number(limit) and is_wider(writer.get(key), limit):
                return _limit_words(key, limit, writer.get(key))
    return None


def _limit_words(key: str, limit: float, written: object) -> Incompatibility:
    if written is None:
        return Incompatibility(f"has no {key} any more", f"{key} is {limit} now, and had no limit")
    return Incompatibility(f"{key} is {written} now, not {limit}", f"{key} is {limit} now, not {written}")


def _is_below(value: object, limit: float) -> bool:
    return not _is_number(value) or value < limit


def _is_above(value: object, limit: float) -> bool:
    return not _is_number(value) or value > limit


def _is_number(value: object) -> TypeGuard[float]:
    """Return whether a limit is one: in draft 4, ``exclusiveMinimum`` is true or false."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _properties(schema: _Schema) -> _Schema:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}
