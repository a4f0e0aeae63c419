"""Generator of the table in ``docs/entities.md`` from the table of entity types.

``python -m tests.docs.entities_page`` writes it into the page; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.relations import BOTH_WAYS, RELATIONS
from tocsin.store.catalogue.entities.filters import filters_of

PAGE = Path(__file__).resolve().parents[2] / "docs/entities.md"
BEGIN, END = "<!-- types: made by tests/docs/entities_page.py -->\n", "<!-- end of types -->\n"


def table() -> str:
    """Return the table of types as Markdown."""
    head = "| type | collection | parent | members | computed fields | filters | people can |"
    return "\n".join([head, "|---|---|---|---|---|---|---|", *(_row(row) for row in ENTITY_TYPES.values()), ""])


def _row(kind: EntityType) -> str:
    types = dict.fromkeys(name for place in kind.places for name in place.types)
    relations = dict.fromkeys((*RELATIONS.get(kind.name, {}), *BOTH_WAYS.get(kind.name, {})))
    filters = [name for name in filters_of(kind.name) if name not in filters_of("dashboard")]
    cells = (f"`{kind.name}`", f"`{kind.collection}`", *map(_words, (types, kind.members, relations, filters)))
    return f"| {' | '.join(cells)} | {', '.join(_can(kind))} |"


def _words(names: object) -> str:
    listed = [str(name) for name in names]  # type: ignore[attr-defined]  # any collection
    if len(listed) > 5:
        return "any service"
    return ", ".join(f"`{name}`" for name in listed)


def _can(kind: EntityType) -> Iterator[str]:
    yield from (
        word
        for word, holds in (
            ("follow", kind.is_followable),
            ("vote", "votes" in kind.keys),
            ("tag", "tags" in kind.keys),
            ("rename", kind.is_renamable),
            ("move", kind.is_movable),
        )
        if holds
    )


if __name__ == "__main__":
    text = PAGE.read_text()
    before, _, after_begin = text.partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + after_begin.partition(END)[2])
