"""Tests of version increments: 0.1, or 1.0 for breaking changes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tocsin.flow.capture.diff import diff
from tocsin.flow.capture.version import is_major_upstream, next_version
from tocsin.model.entity import Document


def _table(*columns: Document, **fields: Any) -> Document:
    return {"name": "t", "columns": list(columns), **fields}


def _column(name: str = "a", data_type: str = "VARCHAR", **fields: Any) -> Document:
    return {"name": name, "dataType": data_type, **fields}


def _struct_of(column: Document) -> Document:
    return _column("s", "STRUCT", children=[column])


def _is_major(old: Document, new: Document, entity_type: str = "table") -> bool:
    return is_major_upstream(entity_type, diff(entity_type, old, new))


@pytest.mark.parametrize(
    ("current", "is_major", "following"),
    [("0.1", False, "0.2"), ("0.9", False, "1.0"), ("0.2", True, "1.2"), ("1.9", True, "2.9"), ("16.1", False, "16.2")],
)
def test_the_minor_digit_is_kept_when_the_major_one_rises(current: str, is_major: bool, following: str) -> None:
    assert next_version(Decimal(current), is_major=is_major) == Decimal(following)


def test_versions_do_not_drift() -> None:
    version = Decimal("0.1")
    for _ in range(1000):
        version = next_version(version, is_major=False)
    assert version == Decimal("100.1")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_column(), None),
        (_column(data_type="INT"), _column(data_type="STRING")),
        (_column(arrayDataType="INT"), _column(arrayDataType="STRING")),
        (_column(dataLength=20), _column(dataLength=10)),
        (_column(precision=9), _column(precision=8)),
        (_column(scale=2), _column(scale=1)),
    ],
)
def test_a_column_dropped_retyped_or_narrowed_breaks_at_any_depth(old: Document, new: Document | None) -> None:
    other_column = _column("rest")
    assert _is_major(_table(old, other_column), _table(*([new] if new else []), other_column))
    after = _column("s", "STRUCT", children=[*([new] if new else []), other_column])
    assert _is_major(_table(_column("s", "STRUCT", children=[old, other_column])), _table(after))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_table(_column()), _table(_column(), _column("b"))),
        (_table(_column(dataLength=10)), _table(_column(dataLength=20))),
        (_table(_column(description="x")), _table(_column())),
        (_table(_column(tags=[{"tagFQN": "A.b"}])), _table(_column())),
        (_table(_struct_of(_column(tags=[{"tagFQN": "A.b"}]))), _table(_struct_of(_column()))),
        (_table(_column(), tags=[{"tagFQN": "A.b"}]), _table(_column())),
        (_table(_column(), extension={"columns": 9}), _table(_column())),
        (_table(_column("children", description="x")), _table(_column("children"))),
        (_table(_column("dataType", constraint="NULL")), _table(_column("dataType", constraint="UNIQUE"))),
    ],
)
def test_what_leaves_every_consumer_able_to_read_does_not_break(old: Document, new: Document) -> None:
    assert not diff("table", old, new).is_empty()
    assert not _is_major(old, new)


def test_a_task_that_goes_breaks_nobody() -> None:
    assert not _is_major({"tasks": [{"name": "a"}]}, {"tasks": []}, "pipeline")


def _topic(*fields: Document, **properties: Any) -> Document:
    return {"name": "t", "messageSchema": {"schemaType": "Avro", "schemaFields": list(fields)}, **properties}


@pytest.mark.parametrize(
    ("entity_type", "old", "new"),
    [
        ("topic", _topic(_column(), _column("b")), _topic(_column("b"))),
        ("topic", _topic(_column(data_type="INT")), _topic(_column(data_type="STRING"))),
        ("topic", _topic(_column()), {"name": "t"}),
        ("topic", _topic(partitions=3), _topic(partitions=6)),
        ("dashboardDataModel", _table(_column(), _column("b")), _table(_column())),
        (
            "container",
            {"dataModel": {"columns": [_column(precision=9)]}},
            {"dataModel": {"columns": [_column(precision=8)]}},
        ),
        ("container", {"dataModel": {"columns": [_column()]}}, {}),
        ("searchIndex", {"fields": [_column(), _column("b")]}, {"fields": [_column()]}),
        (
            "apiEndpoint",
            {"responseSchema": {"schemaFields": [_column(), _struct_of(_column("c"))]}},
            {"responseSchema": {"schemaFields": [_column(), _column("s", "STRUCT")]}},
        ),
        ("mlmodel", {"algorithm": "tree"}, {"algorithm": "forest"}),
        ("mlmodel", {"target": "churn"}, {}),
        ("mlmodel", {"server": "http://a"}, {"server": "http://b"}),
    ],
)
def test_what_consumers_rely_on_breaks_them_when_it_goes(entity_type: str, old: Document, new: Document) -> None:
    assert _is_major(old, new, entity_type)


@pytest.mark.parametrize(
    ("entity_type", "old", "new"),
    [
        ("topic", _topic(_column()), _topic(_column(), _column("b"), description="x")),
        ("topic", {"name": "t"}, _topic(_column(), partitions=1)),
        ("mlmodel", {"mlFeatures": [_column()]}, {"mlFeatures": []}),
        ("mlmodel", {}, {"algorithm": "tree", "target": "churn"}),
        (
            "container",
            {"dataModel": {"columns": [_column()], "isPartitioned": True}},
            {"dataModel": {"columns": [_column()]}},
        ),
    ],
)
def test_what_consumers_do_not_rely_on_breaks_nobody(entity_type: str, old: Document, new: Document) -> None:
    assert not diff(entity_type, old, new).is_empty()
    assert not _is_major(old, new, entity_type)
