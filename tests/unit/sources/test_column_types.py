"""Tests of the types of columns as sources call them."""

from __future__ import annotations

import pytest

from tocsin.model.entity import Document
from tocsin.sources.column_types import column_type_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INTEGER", {"dataType": "INT"}),
        ("decimal(10, 2)", {"dataType": "DECIMAL", "precision": 10, "scale": 2}),
        ("character varying(40)", {"dataType": "VARCHAR", "dataLength": 40}),
        ("VARCHAR", {"dataType": "STRING"}),
        ("varbinary", {"dataType": "BYTES"}),
        ("char", {"dataType": "CHAR", "dataLength": 1}),
        ("array<bigint>", {"dataType": "ARRAY", "arrayDataType": "BIGINT"}),
        ("timestamp with time zone", {"dataType": "TIMESTAMPZ"}),
        ("of our own(99999999999999)", {"dataType": "UNKNOWN"}),
    ],
)
def test_a_type_is_named_and_shown_as_the_source_wrote_it(text: str, expected: Document) -> None:
    assert column_type_of(text) == expected | {"dataTypeDisplay": text}


def test_a_column_without_a_type_is_unknown_unless_it_has_fields() -> None:
    assert column_type_of(None) == {"dataType": "UNKNOWN"}
    assert column_type_of("", has_fields=True) == {"dataType": "STRUCT"}
