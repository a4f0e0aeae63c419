"""Tests that the entities page has the current table of types."""

from __future__ import annotations

from tests.docs.entities_page import BEGIN, END, PAGE, table


def test_the_page_holds_the_table_of_types() -> None:
    table_on_page = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert table_on_page == table(), "run: python -m tests.docs.entities_page"
