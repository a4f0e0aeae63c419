"""Tables of ``docs/conditions.md``, generated from the tables of the condition language.

``python -m tests.docs.conditions_page`` rewrites them; category rows without fields of their own stay.
``tests/unit/conditions/test_documented.py`` compares the page with the code.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tocsin.conditions.changes import CATEGORIES
from tocsin.conditions.fields import FIELDS
from tocsin.conditions.functions import FUNCTIONS
from tocsin.conditions.methods import METHODS

MARKS = str.maketrans("", "", "?+")
PAGE = Path(__file__).resolve().parents[2] / "docs/conditions.md"


def refresh(page: str) -> str:
    """Return the page with its generated tables up to date."""
    tables: dict[str, list[tuple[str, ...]]] = {
        "fields": [(f"`{row.name}`", row.kind.value, row.meaning) for row in FIELDS.values()],
        "methods": [(f"`{name}`", row.meaning) for name, row in METHODS.items()],
        "functions": [
            (f"`{name}`", ", ".join(row.parameters).translate(MARKS), row.meaning) for name, row in FUNCTIONS.items()
        ],
        "categories": [(f"`{name}`", ", ".join(f"`{key}`" for key in keys)) for name, keys in CATEGORIES.items()],
    }
    for name, cells in tables.items():
        page = _with_table(page, name, cells)
    return page


def _with_table(page: str, name: str, cells: Iterable[tuple[str, ...]]) -> str:
    before, marker, after_marker = page.partition(f"<!-- {name} -->\n")
    table, _, after = after_marker.partition("\n\n")
    head, rule, *old = table.splitlines()
    new_lines = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in cells]
    first_cells = {row.split(" | ")[0] for row in new_lines}
    by_hand = [row for row in old if row.split(" | ")[0] not in first_cells] if name == "categories" else []
    return before + marker + "\n".join((head, rule, *new_lines, *by_hand)) + "\n\n" + after


if __name__ == "__main__":
    PAGE.write_text(refresh(PAGE.read_text()))
