"""Tests of the compatibility of JSON Schemas: what the new one allows and the old one refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tocsin.model.compatibility.languages import incompatibility


def _problem(reader: object, writer: object) -> str | None:
    return incompatibility("JSON", reader=json.dumps(reader), writer=json.dumps(writer))


def _object(**keys: object) -> dict[str, object]:
    return {"type": "object", **keys}


@pytest.mark.parametrize(
    ("reader", "writer", "problem"),
    [
        ({"type": "integer"}, {"type": "number"}, "may be number now, not only integer"),
        ({"type": "string"}, {"type": ["string", "null"]}, "may be null now, not only string"),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, "may be 'b' now"),
        ({"enum": ["a"]}, {}, "may be any value now, not only those of a list"),
        (_object(required=["id"]), _object(), "property id is no longer required"),
        (_object(additionalProperties=False), _object(), "may have any further properties now"),
        (
            _object(additionalProperties=False),
            _object(additionalProperties=False, properties={"a": {}}),
            "may have the property a now",
        ),
        ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 9}, "maxLength is 9 now, not 5"),
        ({"type": "integer", "minimum": 0}, {"type": "integer"}, "has no minimum any more"),
        (
            _object(properties={"a": {"type": "array", "items": {"type": "string"}}}),
            _object(properties={"a": {"type": "array", "items": {"type": "integer"}}}),
            "a[]: may be integer now, not only string",
        ),
    ],
)
def test_what_is_newly_allowed_is_a_problem(reader: object, writer: object, problem: str) -> None:
    assert _problem(reader, writer) == problem


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ({"type": "number"}, {"type": "integer"}, "must be integer now, number is no longer accepted"),
        ({"type": ["string", "null"]}, {"type": "string"}, "must be string now, null is no longer accepted"),
        ({"enum": ["x", "y"]}, {"enum": ["x"]}, "'y' is no longer accepted"),
        ({}, {"enum": ["x"]}, "must be one of a list now, not any value"),
        (_object(), _object(required=["a"]), "property a is required now"),
        (_object(), _object(additionalProperties=False), "further properties are no longer accepted"),
        (
            _object(additionalProperties=False, properties={"a": {}}),
            _object(additionalProperties=False),
            "property a is no longer accepted",
        ),
        ({"type": "string", "maxLength": 9}, {"type": "string", "maxLength": 5}, "maxLength is 5 now, not 9"),
        ({"type": "integer"}, {"type": "integer", "minimum": 0}, "minimum is 0 now, and had no limit"),
        (
            _object(properties={"a": {"type": "number"}}),
            _object(properties={"a": {"type": "integer"}}),
            "a: must be integer now, number is no longer accepted",
        ),
    ],
)
def test_writers_are_told_what_is_no_longer_accepted(old: object, new: object, problem: str) -> None:
    texts = {"reader": json.dumps(new), "writer": json.dumps(old)}
    assert incompatibility("JSON", **texts, tells_writer=True) == problem
    assert incompatibility("JSON", reader=texts["writer"], writer=texts["reader"], tells_writer=True) is None


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        ({"type": "number"}, {"type": "integer"}),
        ({}, {"type": "string"}),
        (_object(), _object(required=["id"], properties={"id": {}})),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, {"type": "integer", "minimum": 1}),
        ({"$ref": "#/$defs/a"}, {"type": "string"}),
        ([], {}),
        ({"properties": 3, "required": 4}, {"properties": {"a": {}}}),
    ],
)
def test_what_is_less_or_not_judged_is_none(reader: object, writer: object) -> None:
    assert _problem(reader, writer) is None


def test_of_several_properties_the_first_by_name_is_named_in_every_process() -> None:
    reader, writer = (_object(properties={name: {"type": kind} for name in "hgfedcba"}) for kind in ("null", "string"))
    assert _problem(reader, writer) == "a: may be string now, not only null"


_LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "null", ["string", "null"], ["integer", "string"]]),
        "minimum": st.integers(-2, 2),
        "maxLength": st.integers(0, 2),
        "enum": st.lists(st.sampled_from(["a", "bb", 1, None]), min_size=1, max_size=3),
    },
)
_OBJECTS = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(st.sampled_from("ab"), _LEAVES, max_size=2),
        "required": st.lists(st.sampled_from("ab"), unique=True),
        "additionalProperties": st.booleans(),
    },
)
_VALUES = st.sampled_from(["", "a", "bb", "ccc", 1, -2, 1.5, None])
_INSTANCES = _VALUES | st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3)


@given(_LEAVES | _OBJECTS, _LEAVES | _OBJECTS, st.lists(_INSTANCES, min_size=5, max_size=30))
def test_without_a_problem_nothing_that_is_written_is_refused(reader: Any, writer: Any, instances: list[Any]) -> None:
    if _problem(reader, writer) is not None:
        return
    written = [one for one in instances if Draft202012Validator(writer).is_valid(one)]
    assert all(Draft202012Validator(reader).is_valid(one) for one in written) or _has_inner_types(reader, writer)


def _has_inner_types(reader: Any, writer: Any) -> bool:
    """Return whether a property is described by one of the two only: what it may be there is not judged."""
    return (reader.get("properties") or {}).keys() != (writer.get("properties") or {}).keys()
