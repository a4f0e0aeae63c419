"""Tests of the judgement whether a change breaks who reads an asset: its reasons, and properties of all changes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.conditions.breaking import MOST_REASONS, breaking_reasons, reasons_of_event, reasons_of_version
from tocsin.delivery.wording.changes import version_lines
from tocsin.flow.capture.diff import diff
from tocsin.flow.capture.version import is_major_upstream
from tocsin.model.breaking import BreakingKind, BreakingReason
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.entity import Document


def _table(*columns: Document, **fields: Any) -> Document:
    return {"name": "t", "columns": list(columns), **fields}


def _column(name: str = "a", data_type: str = "VARCHAR", **fields: Any) -> Document:
    return {"name": name, "dataType": data_type, **fields}


def _reasons(old: Document, new: Document, entity_type: str = "table") -> tuple[BreakingReason, ...]:
    return breaking_reasons(entity_type, diff(entity_type, old, new), new)


def _words(old: Document, new: Document, entity_type: str = "table") -> list[str]:
    return [reason.in_words() for reason in _reasons(old, new, entity_type)]


def _lines(old: Document, new: Document, entity_type: str = "table") -> list[str]:
    """Return what messages and histories say of the change."""
    change = diff(entity_type, old, new).since(Decimal("0.1"))
    version = new | {"id": "1", "version": 1.1, "changeDescription": change.to_wire()}
    return version_lines(entity_type, version, reasons_of_version(entity_type, version))


def _topic(text: str | None = None, *fields: Document, **properties: Any) -> Document:
    schema = {"schemaType": "Avro", "schemaText": text, "schemaFields": list(fields)}
    return {"name": "t", "messageSchema": {key: value for key, value in schema.items() if value}, **properties}


def _key(kind: str, *columns: str) -> Document:
    return {"constraintType": kind, "columns": list(columns)}


def _procedure(code: str) -> Document:
    return {"name": "p", "storedProcedureCode": {"language": "SQL", "code": code}}


_REST = _column("rest")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (_table(_column(dataLength=20), _REST), _table(_REST), "column a VARCHAR(20) removed"),
        (
            _table(_column("s", "STRUCT", children=[_column(), _REST])),
            _table(_column("s", "STRUCT", children=[_REST])),
            "column a VARCHAR removed from column s",
        ),
        (
            _table(_column("a.b", dataLength=20)),
            _table(_column("a.b", "INT", dataLength=1)),
            "column a.b VARCHAR(20) → INT",
        ),
        (
            _table(_column(dataLength=20)),
            _table(_column(dataLength=10)),
            "column a VARCHAR(20) → VARCHAR(10)",
        ),
        (
            _table(_column(data_type="DECIMAL", precision=10, scale=2)),
            _table(_column(data_type="DECIMAL", precision=10, scale=4)),
            "column a DECIMAL(10,2) → DECIMAL(10,4)",
        ),
        (
            _table(_column(data_type="ARRAY", arrayDataType="BIGINT")),
            _table(_column(data_type="ARRAY", arrayDataType="INT")),
            "column a ARRAY<BIGINT> → ARRAY<INT>",
        ),
        (
            _table(_column("s", "STRUCT", children=[_column(data_type="ARRAY", arrayDataType="STRING")])),
            _table(_column("s", "STRUCT", children=[_column(data_type="ARRAY", arrayDataType="INT")])),
            "column s.a ARRAY<STRING> → ARRAY<INT>",
        ),
        (_table(_column(constraint="NULL")), _table(_column(constraint="NOT_NULL")), "column a made NOT NULL"),
        (_table(_column()), _table(_column(constraint="NOT_NULL")), "column a made NOT NULL"),
        (
            _table(_column(constraint="PRIMARY_KEY")),
            _table(_column()),
            "constraint PRIMARY KEY removed from column a",
        ),
        (
            _table(_column()),
            _table(_column(), _column("id", constraint="PRIMARY_KEY")),
            "constraint PRIMARY KEY added to column id",
        ),
        (
            _table(_column(), tableConstraints=[_key("PRIMARY_KEY", "id"), _key("SORT_KEY", "a")]),
            _table(_column(), tableConstraints=[_key("PRIMARY_KEY", "id", "region")]),
            "constraint PRIMARY KEY (id) → PRIMARY KEY (id, region)",
        ),
    ],
)
def test_a_table_that_breaks_its_readers_says_why(old: Document, new: Document, words: str) -> None:
    assert _words(old, new) == [words]
    assert f"breaking: {words}" in _lines(old, new)


_AVRO = '{"type": "record", "name": "O", "fields": [{"name": "a", "type": "%s"}]}'


@pytest.mark.parametrize(
    ("entity_type", "old", "new", "words"),
    [
        ("topic", _topic(None, _column(), _REST), _topic(None, _REST), "field a VARCHAR removed from the messages"),
        ("topic", _topic(None, _column()), {"name": "t"}, "schema of the messages removed"),
        ("topic", _topic(partitions=3), _topic(partitions=6), "partitions 3 → 6"),
        (
            "topic",
            _topic(_AVRO % "int"),
            _topic(_AVRO % "string"),
            "schema of the messages incompatible: by the rules of Avro, a: string is not readable as int",
        ),
        (
            "apiEndpoint",
            {"responseSchema": {"schemaFields": [_column(), _REST]}},
            {"responseSchema": {"schemaFields": [_REST]}},
            "field a VARCHAR removed from the response",
        ),
        (
            "searchIndex",
            {"fields": [_column("a", "LONG")]},
            {"fields": [_column("a", "SHORT")]},
            "field a LONG → SHORT",
        ),
        (
            "container",
            {"dataModel": {"columns": [_column(), _REST]}},
            {"dataModel": {"columns": [_REST]}},
            "column a VARCHAR removed from the data model",
        ),
        ("mlmodel", {"algorithm": "tree"}, {"algorithm": "forest"}, "algorithm tree → forest"),
        ("mlmodel", {"server": "http://u:p@a"}, {"server": "http://u:p@b"}, "server changed"),
        ("mlmodel", {"target": "churn"}, {}, "target removed: was churn"),
        (
            "storedProcedure",
            _procedure("CREATE OR REPLACE PROCEDURE pay(a INT, b DECIMAL(10, 2))\nAS $$ SELECT 1 $$"),
            _procedure("create procedure pay(a BIGINT, b DECIMAL(10, 2)) as $$ select 2 $$"),
            "signature changed: (a INT, b DECIMAL(10, 2)) → (a BIGINT, b DECIMAL(10, 2))",
        ),
    ],
)
def test_other_assets_that_break_their_readers_say_why(
    entity_type: str, old: Document, new: Document, words: str
) -> None:
    assert _words(old, new, entity_type) == [words]
    line = next(one for one in _lines(old, new, entity_type) if one.startswith("breaking: "))
    assert line.startswith(f"breaking: {words}")


def test_a_request_is_judged_by_who_writes_it() -> None:
    def endpoint(container: str, required: list[str]) -> Document:
        return {container: {"schemaType": "JSON", "schemaText": f'{{"required": {required}}}'.replace("'", '"')}}

    assert _words(endpoint("requestSchema", []), endpoint("requestSchema", ["id"]), "apiEndpoint") == [
        "schema of the request incompatible: by the rules of JSON Schema, property id is required now"
    ]
    assert not _words(endpoint("requestSchema", ["id"]), endpoint("requestSchema", []), "apiEndpoint")
    assert _words(endpoint("responseSchema", ["id"]), endpoint("responseSchema", []), "apiEndpoint") == [
        "schema of the response incompatible: by the rules of JSON Schema, property id is no longer required"
    ]
    assert not _words(endpoint("responseSchema", []), endpoint("responseSchema", ["id"]), "apiEndpoint")


@pytest.mark.parametrize(
    ("entity_type", "old", "new"),
    [
        ("table", _table(_column(data_type="INT")), _table(_column(data_type="BIGINT"))),
        (
            "table",
            _table(_column(data_type="ARRAY", arrayDataType="INT")),
            _table(_column(data_type="ARRAY", arrayDataType="BIGINT")),
        ),
        ("table", _table(_column(dataLength=20)), _table(_column(data_type="TEXT", dataLength=1))),
        ("table", _table(_column(constraint="NOT_NULL")), _table(_column(constraint="NULL"))),
        ("table", _table(_column()), _table(_column(), _column("b", constraint="NOT_NULL"))),
        ("table", _table(_column(description="x")), _table(_column(tags=[{"tagFQN": "A.b"}]))),
        (
            "table",
            _table(_column(), tableConstraints=[_key("UNIQUE", "a", "b")]),
            _table(_column(), tableConstraints=[_key("UNIQUE", "b", "a"), _key("SORT_KEY", "a")]),
        ),
        ("topic", _topic(_AVRO % "int"), _topic(_AVRO.replace("Avro", "") % "int", description="x")),
        ("topic", _topic("no schema"), _topic("none either")),
        (
            "storedProcedure",
            _procedure("CREATE PROCEDURE p(a INT) AS 1"),
            _procedure("create procedure p( a  int ) AS 2"),
        ),
        ("storedProcedure", _procedure("SELECT 1"), _procedure("SELECT 2")),
        ("dashboard", {"charts": [{"id": "1"}]}, {"charts": []}),
    ],
)
def test_what_leaves_every_reader_able_to_read_has_no_reason(entity_type: str, old: Document, new: Document) -> None:
    assert not _reasons(old, new, entity_type)


def test_reasons_are_limited() -> None:
    columns = [_column(f"c{number}") for number in range(3 * MOST_REASONS)]
    assert len(_reasons(_table(*columns), _table(_REST))) == MOST_REASONS


def _version(number: float, before: Document, after: Document, previous: str) -> Document:
    change = diff("table", before, after).since(Decimal(previous))
    return after | {"version": number, "changeDescription": change.to_wire()}


def test_a_version_is_marked_by_its_difference_and_not_by_its_number() -> None:
    harmless = _version(2.0, _table(_column()), _table(_column(), description="x"), "1.9")
    removed = _version(2.1, _table(_column(), _REST), _table(_REST), "2.0")
    wider = _version(3.1, _table(_column(data_type="INT")), _table(_column(data_type="BIGINT")), "2.1")
    of_bigint, of_int = (_table(_column(data_type="ARRAY", arrayDataType=name)) for name in ("BIGINT", "INT"))
    narrower = _version(4.1, of_bigint, of_int, "3.1")
    assert not reasons_of_version("table", harmless)
    assert [one.kind for one in reasons_of_version("table", removed)] == [BreakingKind.FIELD_REMOVED]
    assert [one.kind for one in reasons_of_version("table", narrower)] == [BreakingKind.TYPE_NARROWED]
    assert not reasons_of_version("table", wider)
    assert not reasons_of_version("table", _table(_column()) | {"version": 0.1})


def test_a_deletion_breaks_only_if_it_raised_the_version_by_one() -> None:
    before = _table(_column(), deleted=False)
    after = before | {"deleted": True}
    read = reasons_of_version("table", _version(2.9, before, after, "1.9"))
    assert [one.kind for one in read] == [BreakingKind.DELETED_WHILE_READ]
    assert not reasons_of_version("table", _version(2.0, before, after, "1.9"))
    assert not reasons_of_version("table", _version(2.9, after, before, "1.9"))


def test_an_event_of_an_earlier_release_is_judged_when_it_is_read() -> None:
    after = _table(_REST)
    change = diff("table", _table(_column(), _REST), after)
    event = ChangeEvent(
        id="1",
        event_type=EventType.ENTITY_UPDATED,
        entity_type="table",
        entity_id="2",
        timestamp=0,
        change_description=change,
        entity=after,
    )
    assert [one.in_words() for one in reasons_of_event(event)] == ["column a VARCHAR removed"]
    assert not reasons_of_event(event.model_copy(update={"event_type": EventType.ENTITY_CREATED}))
    recorded_reasons = (BreakingReason(kind=BreakingKind.DELETED_WHILE_READ),)
    read_back = ChangeEvent.model_validate_json(
        event.model_copy(update={"breaking_reasons": recorded_reasons}).to_json()
    )
    assert reasons_of_event(read_back) == recorded_reasons


_NAMES = st.sampled_from(["TINYINT", "INT", "BIGINT", "VARCHAR", "TEXT", "DECIMAL", "DATE", "TIMESTAMP"])
_COLUMNS = st.fixed_dictionaries(
    {"name": st.sampled_from("abc"), "dataType": _NAMES},
    optional={
        "dataLength": st.integers(1, 3),
        "precision": st.integers(1, 3),
        "scale": st.integers(0, 2),
        "constraint": st.sampled_from(["NULL", "NOT_NULL", "UNIQUE"]),
        "description": st.sampled_from("xy"),
    },
)
_TABLES = st.lists(_COLUMNS, min_size=1, max_size=3, unique_by=lambda one: one["name"]).map(lambda some: _table(*some))


@given(_TABLES, _TABLES)
def test_a_removed_column_always_breaks_and_its_return_never_does_by_itself(old: Document, new: Document) -> None:
    before, after = ({one["name"] for one in table["columns"]} for table in (old, new))
    removed = {reason.field for reason in _reasons(old, new) if reason.kind is BreakingKind.FIELD_REMOVED}
    assert removed == {f"columns.{name}" for name in before - after}


@given(_TABLES, _TABLES)
def test_a_change_of_types_is_narrower_one_way_at_least(old: Document, new: Document) -> None:
    reasons = (*_reasons(old, new), *_reasons(new, old))
    types = [{one["name"]: one["dataType"] for one in table["columns"]} for table in (old, new)]
    for name in types[0].keys() & types[1].keys():
        if types[0][name] != types[1][name]:
            assert any(reason.field == f"columns.{name}" for reason in reasons)


@given(_TABLES, _TABLES)
def test_every_shortening_that_openmetadata_sees_is_major_here_and_reasons_are_of_what_changed(
    old: Document, new: Document
) -> None:
    change = diff("table", old, new)
    reasons = breaking_reasons("table", change, new)
    if change.is_empty():
        assert not reasons
    if any(reason.kind in (BreakingKind.FIELD_REMOVED, BreakingKind.TYPE_NARROWED) for reason in reasons):
        assert is_major_upstream("table", change)
