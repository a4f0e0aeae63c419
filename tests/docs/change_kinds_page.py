"""Tables of ``docs/change-kinds.md``, generated from the kinds of change.

``python -m tests.docs.change_kinds_page`` rewrites them; ``tests/docs/test_change_kinds_page.py`` compares.
"""

from __future__ import annotations

from pathlib import Path

from tocsin.conditions.changes import KNOWN_CATEGORIES
from tocsin.conditions.event_kinds import BY_EVENT_TYPE, BY_FIELD, kinds_in_category
from tocsin.model.change_kinds import CHANGE_KINDS

PAGE = Path(__file__).resolve().parents[2] / "docs/change-kinds.md"
_MARK = {True: "✓", False: ""}


def refresh(page: str) -> str:
    """Return the page with its tables up to date."""
    kinds: list[tuple[str, ...]] = [
        (f"`{kind.name}`", kind.group, kind.label, f"`{kind.frequency}`", _MARK[kind.crosses], _MARK[kind.has_events])
        for kind in CHANGE_KINDS.values()
    ]
    tables: dict[str, list[tuple[str, ...]]] = {
        "kinds": kinds,
        "types": [(f"`{event_type}`", f"`{kind}`") for event_type, kind in BY_EVENT_TYPE.items()],
        "categories": [
            (f"`{name}`", ", ".join(f"`{kind}`" for kind in kinds_in_category(name))) for name in KNOWN_CATEGORIES
        ],
        "fields": [(f"`{field}`", f"`{kind}`") for field, kind in BY_FIELD.items()],
    }
    for name, cells in tables.items():
        before, marker, after_marker = page.partition(f"<!-- {name} -->\n")
        table, _, after = after_marker.partition("\n\n")
        new_lines = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in cells]
        page = before + marker + "\n".join((*table.splitlines()[:2], *new_lines)) + "\n\n" + after
    return page


if __name__ == "__main__":
    PAGE.write_text(refresh(PAGE.read_text()))
