"""Tests of the compatibility of Protobuf schemas, by the cases of the language guide."""

from __future__ import annotations

import pytest

from tocsin.model.compatibility.languages import incompatibility

_ORDER = """
syntax = "proto3"; // ;}
package shop;
import "google/protobuf/timestamp.proto";
option java_package = "a;b{";

/* message Ghost { string a = 1; } */
message Order {
  option (note) = { text: "}" };
  reserved 9, 10 to 12;
  reserved "gone";
  int32 id = 1 [deprecated = true];
  repeated string tags = 2;
  map<string, int64> counts = 3;
  oneof how { string card = 4; bytes cash = 5; }
  enum Status { UNKNOWN = 0; PAID = -1; }
  Status status = 6;
  message Line { double price = 1; }
  repeated Line lines = 7;
  google.protobuf.Timestamp at = 8;
}
service Orders { rpc Get (Order) returns (Order) { option (x) = "y"; } }
"""


def _problem(reader: str, writer: str) -> str | None:
    return incompatibility("Protobuf", reader=reader, writer=writer)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("int32 id = 1", "string id = 1", "Order.id: number 1 is string now, not int32"),
        ("int32 id = 1", "sint32 id = 1", "Order.id: number 1 is sint32 now, not int32"),
        ("bytes cash = 5", "bool cash = 5", "Order.cash: number 5 is bool now, not bytes"),
        ("double price = 1", "float price = 1", "Order.Line.price: number 1 is float now, not double"),
        ("int32 id = 1", "repeated int32 id = 1", "Order.id: repeated now"),
        (
            "google.protobuf.Timestamp at = 8",
            "int64 at = 8",
            "Order.at: number 8 is int64 now, not google.protobuf.Timestamp",
        ),
        (
            "map<string, int64> counts = 3",
            "fixed32 counts = 3",
            "Order.counts: number 3 is fixed32 now, not map<string,int64>",
        ),
    ],
)
def test_a_number_with_another_type_is_a_problem(old: str, new: str, problem: str) -> None:
    assert _problem(_ORDER, _ORDER.replace(old, new)) == problem


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int32 id = 1", "int64 id = 1"),
        ("int32 id = 1", "int32 number = 1"),
        ("int32 id = 1 [deprecated = true];", ""),
        ("Status status = 6", "int32 status = 6"),
        ("repeated string tags = 2", "string tags = 2"),
        ("bytes cash = 5", "string cash = 5"),
        ("google.protobuf.Timestamp at = 8;", "google.protobuf.Timestamp at = 8; string extra = 20;"),
        ("service Orders", "service Others"),
    ],
)
def test_what_the_guide_allows_is_none(old: str, new: str) -> None:
    assert old in _ORDER
    assert _problem(_ORDER, _ORDER.replace(old, new)) is None


def test_of_several_messages_the_first_by_name_is_named_in_every_process() -> None:
    reader = "".join(f"message {name} {{ int32 id = 1; }}" for name in "HGFEDCBA")
    assert _problem(reader, reader.replace("int32", "string")) == "A.id: number 1 is string now, not int32"


def test_a_required_field_has_to_be_written() -> None:
    reader = "message A { required string id = 1; }"
    assert _problem(reader, "message A { optional string other = 2; }") == "A.id: required, and no longer written"
    assert _problem(reader, "message A { optional string id = 1; }") == "A.id: no longer required"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("int32 id = 1;", "string id = 1;", "A.id: number 1 is string now, not int32"),
        ("int32 id = 1;", "repeated int32 id = 1;", "A.id: repeated now"),
        ("repeated int32 id = 1;", "int32 id = 1;", "A.id: not repeated now"),
        ("optional string id = 1;", "required string id = 1;", "A.id: required now"),
        ("", "required string id = 1;", "A.id: required now"),
    ],
)
def test_writers_are_told_what_is_expected_now(old: str, new: str, problem: str) -> None:
    writer, reader = (f"message A {{ {fields} }}" for fields in (old, new))
    assert incompatibility("Protobuf", reader=reader, writer=writer, tells_writer=True) == problem


@pytest.mark.parametrize(
    "text", ["", "}", "message A {", "message A { x = 1; }", "message A { int32 x = ; }", "{" * 5000]
)
def test_a_text_that_is_no_schema_is_not_judged(text: str) -> None:
    assert _problem(_ORDER, text) is None
    assert _problem(text, _ORDER) is None


def test_messages_in_messages_are_read_to_a_limit() -> None:
    text = "message A { " * 500 + "int32 x = 1; " + "}" * 500
    assert _problem(text, text.replace("int32", "string")) is None
