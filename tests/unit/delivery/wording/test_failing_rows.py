"""Tests of what a message shows of rows that failed a test: little, in words, and of a bounded size."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tocsin.delivery.wording.failing_rows import (
    MOST_EXCERPT_CHARACTERS,
    excerpt_of,
    failing_row_lines,
    failing_rows_of,
)
from tocsin.model.entity import Document


@pytest.mark.parametrize(
    "name", ["\\" * 10_000, "\x01" * 600, '"' * 512], ids=["escaped", "controls", "quotation marks"]
)
@pytest.mark.parametrize(
    "cell",
    [
        "x" * 100_000,
        '"\\' * 50_000,
        "\x00\x1b[31m\u202e\u2028" * 20_000,
        '"' * 60,
        "[" * 900 + "]" * 900,
        {"a": [{"b": "c" * 100_000}]},
        [["x" * 1_000] * 30] * 30,
        {f"key {at}": at for at in range(10_000)},
    ],
    ids=["long", "escaped", "controls", "quotation marks", "nested text", "object", "lists", "wide"],
)
def test_an_excerpt_is_small_whatever_the_rows_hold(name: str, cell: Any) -> None:
    sample = {"columns": [name] * 10, "rows": [[cell] * 10] * 10}
    text = orjson.dumps(excerpt_of(sample)).decode()
    assert len(text) <= MOST_EXCERPT_CHARACTERS
    assert text.isprintable()


def test_a_column_keeps_its_name_in_an_excerpt_and_a_name_that_is_cut_is_none() -> None:
    names = ["a" * 512, "b" * 513, "line\nbreak", "\n" * 256, "\n" * 257]
    assert excerpt_of({"columns": names, "rows": []})["columns"] == [
        names[0],
        "b" * 512 + "…",
        *names[2:4],
        "\n" * 256 + "…",
    ]


def test_rows_are_shown_as_short_texts() -> None:
    row = [7, None, "", {"city": "Rom", "zip": None}, [1, 2.5], "left out"]
    excerpt = excerpt_of({"columns": ["id", "a\nb", "c", "d", "e", "f"], "rows": [row] * 4})
    failing = failing_rows_of(excerpt, lambda shown: shown)
    assert failing.columns == ("id", "a b", "c", "d", "e")
    assert failing.cells == (("7", "null", '""', "city Rom", "1, 2.5"),) * 3
    assert [line.labelled_text for line in failing_row_lines(failing)] == [
        *(f'failing row {number}: id: 7; a b: null; c: ""; d: city Rom; e: 1, 2.5' for number in (1, 2, 3)),
        "sample: the first of 4 rows of 6 columns that are kept",
    ]


def test_no_value_and_no_name_reads_as_another_column() -> None:
    row = [7, {"b": 1, "c": 2}, 'Rome"; paid: yes; x: "', "x | id: 8"]
    sample = {"columns": ["id", 'a"; paid: yes', "address", "a|b"], "rows": [row]}
    (line,) = failing_row_lines(failing_rows_of(excerpt_of(sample), lambda kept_rows: kept_rows))
    texts = [
        "id: 7",
        """"a'; paid: yes": "b 1; c 2\"""",
        """address: "Rome'; paid: yes; x: '\"""",
        '"a|b": "x | id: 8"',
    ]
    assert line.text == "; ".join(texts)


def test_what_is_masked_is_masked_in_the_excerpt() -> None:
    def mask(excerpt: Document) -> Document:
        return {**excerpt, "rows": [["*" for _ in row] for row in excerpt["rows"]]}

    excerpt = excerpt_of({"columns": ["id"], "rows": [[7]]})
    assert failing_rows_of(excerpt, mask).cells == (("*",),)
