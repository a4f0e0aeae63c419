"""Tests of the compatibility of Avro schemas, by the cases of the specification's section "Schema Resolution"."""

from __future__ import annotations

import json

import pytest

from tocsin.model.compatibility.languages import incompatibility


def _record(*fields: object, name: str = "Order", **keys: object) -> object:
    return {"type": "record", "name": name, "fields": list(fields), **keys}


def _field(name: str, schema: object, **keys: object) -> object:
    return {"name": name, "type": schema, **keys}


def _problem(reader: object, writer: object) -> str | None:
    return incompatibility("Avro", reader=json.dumps(reader), writer=json.dumps(writer))


_ENUM = {"type": "enum", "name": "Status", "symbols": ["OPEN", "PAID"]}


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        ("int", "int"),
        ("long", "int"),
        ("double", "float"),
        ("bytes", "string"),
        (["null", "string"], "string"),
        (["null", "long"], ["null", "int"]),
        ({"type": "array", "items": "long"}, {"type": "array", "items": "int"}),
        (_record(_field("a", "int")), _record(_field("a", "int"), _field("b", "string"))),
        (_record(_field("a", "int", default=0)), _record()),
        (_record(_field("a", "int", aliases=["old"])), _record(_field("old", "int"))),
        (_record(name="shop.Order"), _record(name="other.Order")),
        (_record(name="New", aliases=["Order"]), _record()),
        (_ENUM | {"symbols": ["OPEN", "PAID", "GONE"]}, _ENUM),
        (_ENUM | {"symbols": ["OPEN"], "default": "OPEN"}, _ENUM),
        (_record(_field("a", {"type": "string"})), _record(_field("a", "string"))),
        (
            _record(_field("next", ["null", "Order"]), _field("a", "int")),
            _record(_field("next", ["null", "Order"]), _field("a", "int")),
        ),
        ("int", "not a type"),
    ],
)
def test_a_reader_understands_what_the_rules_let_it(reader: object, writer: object) -> None:
    assert _problem(reader, writer) is None


@pytest.mark.parametrize(
    ("reader", "writer", "problem"),
    [
        ("int", "long", "long is not readable as int"),
        ("float", "double", "double is not readable as float"),
        ("string", "int", "int is not readable as string"),
        ("string", ["null", "string"], "null is not readable as string"),
        (["int", "string"], "boolean", "boolean is none of the types that were read"),
        (_record(_field("a", "int")), _record(), "a: no longer written, and read without a default"),
        (
            _record(_field("a", _record(_field("b", "int"), name="Inner"))),
            _record(_field("a", _record(_field("b", "string"), name="Inner"))),
            "a.b: string is not readable as int",
        ),
        (_record(), _record(name="Other"), "record Other is not Order"),
        (_ENUM, _ENUM | {"symbols": ["OPEN", "GONE"]}, "symbol GONE is new, and read without a default"),
        ({"type": "fixed", "name": "F", "size": 4}, {"type": "fixed", "name": "F", "size": 8}, "size 8 is not 4"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
            "decimal (9, 3) is not (9, 2)",
        ),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "string"}, "{}: string is not readable as int"),
    ],
)
def test_a_reader_does_not_understand_what_the_rules_forbid(reader: object, writer: object, problem: str) -> None:
    assert _problem(reader, writer) == problem


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("long", "int", "must be int now, long is no longer accepted"),
        (["null", "string"], "string", "must be string now, null is no longer accepted"),
        (["null", "string"], ["string", "int"], "null is no longer accepted"),
        (_record(), _record(_field("b", "string")), "b: required now, and has no default"),
        (_record(name="Other"), _record(), "record is Order now, not Other"),
        (_ENUM, _ENUM | {"symbols": ["OPEN"]}, "symbol PAID is no longer accepted"),
        ({"type": "fixed", "name": "F", "size": 4}, {"type": "fixed", "name": "F", "size": 8}, "size is 8 now, not 4"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
            "decimal is (9, 3) now, not (9, 2)",
        ),
    ],
)
def test_writers_are_told_what_is_no_longer_accepted(old: object, new: object, problem: str) -> None:
    assert incompatibility("Avro", reader=json.dumps(new), writer=json.dumps(old), tells_writer=True) == problem


def test_a_type_within_itself_is_compared_once() -> None:
    reader = _record(_field("next", ["null", "Order"]), _field("a", "int"))
    writer = _record(_field("next", ["null", "Order"]), _field("a", "string"))
    assert _problem(reader, writer) == "a: string is not readable as int"


def test_alternatives_of_alternatives_are_given_up_instead_of_multiplied() -> None:
    schema: object = "int"
    for depth in range(10):
        schema = [
            {"type": "array", "items": schema},
            {"type": "map", "values": schema},
            f"{'null' if depth else 'int'}",
        ]
    assert _problem(schema, schema) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "[[[]]]", '{"type": ["record"]}'])
def test_a_text_that_is_no_schema_is_not_judged(text: str) -> None:
    assert incompatibility("Avro", reader=text, writer='"int"') is None
    assert incompatibility("Avro", reader='"int"', writer=text) is None
