"""Announced renames of columns: one line in the place of the removal and the addition that they are written as.

Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tocsin.delivery.lines import ChangeLine, Rank, clean_line
from tocsin.delivery.wording.paths import words_of_path
from tocsin.model import fqn
from tocsin.model.announcement import Announcement

LocatedLine = tuple[Sequence[str], ChangeLine]
"""The path of what changed, and what is said of it."""


def lines_with_renames(located: Iterable[LocatedLine], announcements: Iterable[Announcement]) -> Iterator[LocatedLine]:
    """Yield lines at their paths with each rename as one: ``column z renamed to zz``, at the path of the removal."""
    new_names = {one.field: clean_line(one.renamed_to) for one in announcements if one.field and one.renamed_to}
    if not new_names:
        yield from located
        return
    lines = list(located)
    added_places = {_place_of(path, line.name) for path, line in lines if line.rank is Rank.ADDED and line.name}
    renames = {
        field: (new_name, new_place)
        for field, new_name in new_names.items()
        if (new_place := _place_of(fqn.steps_of(field)[:-1], new_name)) in added_places
    }
    told_places = {new_place for _, new_place in renames.values()}
    for path, line in lines:
        place = _place_of(path, line.name) if line.name else ""
        if line.rank is Rank.REMOVED and place in renames:
            text = f"{words_of_path([*path, line.name])} renamed to {renames[place][0]}"
            yield path, ChangeLine(text, rank=Rank.RENAMED, name=line.name)
        elif line.rank is not Rank.ADDED or place not in told_places:
            yield path, line


def _place_of(path: Sequence[str], name: str) -> str:
    return fqn.join([*path, name])
