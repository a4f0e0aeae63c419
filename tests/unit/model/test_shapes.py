"""Tests of value validation against schemas: errors with path and reason."""

from __future__ import annotations

import contextlib

import pytest

from tocsin.delivery.wording.event_formats import FULL_EVENT
from tocsin.errors import InvalidInput
from tocsin.model import shapes
from tocsin.model.change import EventType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.asyncapi.event_schemas import EVENT_SCHEMAS

COLUMN = {"name": "id", "dataType": "INT"}


def test_every_key_of_every_type_has_a_shape_that_can_refuse() -> None:
    for name, row in ENTITY_TYPES.items():
        for key in row.keys:
            with contextlib.suppress(InvalidInput):
                shapes.check(name, key, object())


def test_events_may_be_of_every_type() -> None:
    named_types = shapes.named_shape("changeEventType")["enum"]
    assert [event_type.value for event_type in EventType if event_type not in named_types] == []


def test_events_have_the_keys_that_every_format_writes() -> None:
    described_keys = shapes.named_shape("changeEvent")["fields"].keys()
    for name in ("default", "tocsin", "openmetadata"):
        assert EVENT_SCHEMAS[name]["properties"].keys() - {FULL_EVENT} <= described_keys, name


@pytest.mark.parametrize(
    ("entity_type", "key", "value"),
    [
        ("table", "columns", [COLUMN | {"children": [COLUMN]}]),
        ("table", "tableType", "View"),
        ("table", "extension", {"anything": [1, None]}),
        ("container", "size", 5),
        ("databaseService", "connection", {"config": {"type": "Postgres", "hostPort": "h:1", "whatever": 1}}),
        ("storedProcedure", "storedProcedureCode", {"code": "x", "more": 1}),
        ("type", "name", "größe_1"),
    ],
)
def test_what_the_schema_allows_is_allowed(entity_type: str, key: str, value: object) -> None:
    shapes.check(entity_type, key, value)


@pytest.mark.parametrize(
    ("entity_type", "key", "value", "message"),
    [
        ("table", "columns", [COLUMN | {"dataType": "SPOON"}], r"columns\[0\]\.dataType: must be 'NUMBER'"),
        ("table", "columns", [COLUMN | {"dataType": "BIGNIT"}], r"columns\[0\]\.dataType: .*; did you mean BIGINT\?"),
        ("table", "columns", [COLUMN | {"colour": "red"}], r"columns\[0\]\.colour: unknown key"),
        ("table", "columns", [{"name": "id"}], r"columns\[0\]\.dataType: is missing"),
        ("table", "columns", [COLUMN | {"dataLength": "9"}], r"columns\[0\]\.dataLength: must be an integer"),
        ("table", "name", "a::b", r"name: does not match"),
        ("table", "name", "a" * 257, r"name: .*256"),
        ("topic", "partitions", True, "partitions: must be an integer"),
        ("type", "name", "a b", r"name: does not match"),
        ("mlmodel", "server", "nowhere", r"server: does not match"),
        ("topic", "partitions", 2**70, r"partitions: "),
    ],
)
def test_what_it_does_not_allow_is_refused(entity_type: str, key: str, value: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        shapes.check(entity_type, key, value)


def test_what_stood_there_before_is_not_looked_at_again() -> None:
    old = {"name": "t", "columns": [{"name": "id", "dataType": "SPOON"}]}
    shapes.check_changed("table", old | {"description": "New."}, old)
    with pytest.raises(InvalidInput):
        shapes.check_changed("table", old, {})
    with pytest.raises(InvalidInput, match="needs columns"):
        shapes.check_changed("table", {"name": "t"}, old)


def test_the_words_of_a_key_are_known() -> None:
    assert shapes.enumeration("chart", "chartType")[:2] == ("Line", "Table")
    assert shapes.enumeration("table", "name") == ()


@pytest.mark.parametrize(
    ("entity_type", "key", "value"),
    [
        ("databaseService", "serviceType", "QuestDB"),
        ("database", "serviceType", "SapSuccessFactors"),
        ("dashboardService", "serviceType", "SapS4Hana"),
        ("dashboardDataModel", "dataModelType", "SsrsDataModel"),
    ],
)
def test_values_of_later_releases_are_allowed(entity_type: str, key: str, value: str) -> None:
    shapes.check(entity_type, key, value)
    assert value in shapes.enumeration(entity_type, key)
    with pytest.raises(InvalidInput):
        shapes.check(entity_type, key, f"{value}2")
