"""Tests that the page of history lists exactly the bookkeeping fields, with the events that they make."""

from __future__ import annotations

import re
from pathlib import Path

from tocsin.model.list_identity import BOOKKEEPING

PAGE = Path(__file__).resolve().parents[2] / "docs/history.md"


def test_the_table_lists_every_bookkeeping_field() -> None:
    section = PAGE.read_text().split("### Bookkeeping")[1].split("\n## ")[0]
    first_cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert {name for row in first_cells for name in re.findall(r"`(\w+)`", row)} == BOOKKEEPING
