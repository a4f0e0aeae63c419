"""Tests that docs/conditions.md lists every field, method and function."""

from __future__ import annotations

from pathlib import Path

from tests.docs.conditions_page import MARKS

from tocsin.conditions.changes import CATEGORIES, KNOWN_CATEGORIES
from tocsin.conditions.fields import FIELDS
from tocsin.conditions.functions import FUNCTIONS
from tocsin.conditions.methods import METHODS
from tocsin.conditions.operands import ALIASES
from tocsin.conditions.relations import RELATIONS

PAGE = (Path(__file__).parents[3] / "docs" / "conditions.md").read_text(encoding="utf-8")


def _rows(table: str) -> list[list[str]]:
    """Return the cells of the table that follows a marker."""
    lines = PAGE.split(f"<!-- {table} -->\n")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_of_fields_is_the_code_s() -> None:
    assert _rows("fields") == [[f"`{field.name}`", field.kind.value, field.meaning] for field in FIELDS.values()]


def test_the_table_of_methods_is_the_code_s() -> None:
    assert _rows("methods") == [[f"`{name}`", row.meaning] for name, row in METHODS.items()]


def test_the_table_of_functions_is_the_code_s() -> None:
    expected = [
        [f"`{name}`", ", ".join(row.parameters).translate(MARKS), row.meaning] for name, row in FUNCTIONS.items()
    ]
    assert _rows("functions") == expected


def test_the_table_of_categories_is_the_code_s() -> None:
    expected = [[f"`{name}`", ", ".join(f"`{key}`" for key in keys)] for name, keys in CATEGORIES.items()]
    assert _rows("categories")[: len(expected)] == expected
    assert [row[0] for row in _rows("categories")] == [f"`{name}`" for name in KNOWN_CATEGORIES]


def test_what_is_refused_or_stands_for_something_else_is_named() -> None:
    assert all(f"user.{name}(" in PAGE for name in RELATIONS)
    assert all(f"`entity.{key}`" in PAGE for key in ALIASES if key not in ("owner", "domain"))
