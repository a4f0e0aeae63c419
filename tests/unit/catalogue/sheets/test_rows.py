"""Tests of CSV parsing, with errors, and of safe CSV output."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.catalogue.sheets.rows import (
    BrokenSheet,
    Header,
    Outcome,
    SheetKind,
    import_result,
    read_sheet,
    write_sheet,
)

KIND = SheetKind("", (Header("name", "", (), required=True), Header("note", "", ()), Header("tags", "", ())))
TEXTS = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@given(st.lists(st.tuples(TEXTS.filter(str.strip), TEXTS, TEXTS)))
def test_what_is_written_is_read_again(records: list[tuple[str, str, str]]) -> None:
    sheet = read_sheet(KIND, write_sheet([("name*", "note", "tags"), *records]))
    assert [row.cells for row in sheet.body_rows] == records
    assert all(row.problem is None for row in sheet.body_rows)


@given(st.lists(TEXTS, min_size=1))
def test_no_written_cell_is_a_formula(cells: list[str]) -> None:
    (written,) = csv.reader(io.StringIO(write_sheet([["x", *cells]]), newline=""))
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for cell in written)


@pytest.mark.parametrize("start", ["=", "\n=", "\r=", "\t=", "\uff1d", "\uff0b", "\uff0d", "\uff20", "'\uff1d"])
def test_a_formula_is_written_with_an_apostrophe_that_the_reader_removes(start: str) -> None:
    text = write_sheet([("name", "note"), ("x", f"{start}cmd")])
    assert list(csv.reader(io.StringIO(text, newline="")))[1] == ["x", f"'{start}cmd"]
    assert read_sheet(KIND, text).body_rows[0].values["note"] == f"{start}cmd"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("note\nx", "name is missing"),
        ("name,colour\nx,y", "'colour'"),
        ("name,note,note\nx,y,z", "twice"),
        ('name,note\na,"b"c\n', "line 2"),
        ('name,note\na,b\n"open,\n', "line"),
        ("name\nx\0y", "NUL"),
    ],
)
def test_what_is_no_sheet_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BrokenSheet, match=reason):
        read_sheet(KIND, text)


def test_marks_line_ends_order_and_missing_columns_do_not_matter() -> None:
    sheet = read_sheet(KIND, "\ufefftags, name*\r\n\r\nT.a,x\r\n,\r\n,y\r\n")
    assert [row.values for row in sheet.body_rows] == [{"tags": "T.a", "name": "x"}, {"tags": "", "name": "y"}]
    assert sheet.written == ("tags", "name*")


def test_a_row_that_is_too_short_or_lacks_what_it_needs_says_so() -> None:
    sheet = read_sheet(KIND, "name,note\na\na,b,c\n  ,b\n")
    assert [row.problem for row in sheet.body_rows] == [
        "has 1 cells instead of 2",
        "has 3 cells instead of 2",
        "name is missing",
    ]


def test_a_cell_may_be_very_long() -> None:
    sheet = read_sheet(KIND, write_sheet([("name", "note"), ("a", "x" * 1_000_000)]))
    assert len(sheet.body_rows[0].cells[1]) == 1_000_000


def test_the_result_says_of_each_row_what_became_of_it() -> None:
    sheet = read_sheet(KIND, "name\na\n=b\n")
    first, second = sheet.body_rows
    result = import_result(sheet, [Outcome(first, "done"), Outcome(second, "no", failed=True)], dry_run=True)
    assert result["importResultsCsv"] == "status,details,name\r\nsuccess,done,a\r\nfailure,no,'=b\r\n"
    assert (result["status"], result["numberOfRowsPassed"], result["numberOfRowsFailed"]) == ("partialSuccess", 1, 1)
