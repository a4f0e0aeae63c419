"""Tests that ``docs/change-kinds.md`` has the tables of the code."""

from __future__ import annotations

from tests.docs.change_kinds_page import PAGE, refresh


def test_the_page_of_kinds_shows_the_tables_of_the_code() -> None:
    page = PAGE.read_text()
    assert page == refresh(page), "run: python -m tests.docs.change_kinds_page"
