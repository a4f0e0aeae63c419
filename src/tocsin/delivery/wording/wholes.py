"""Text of what an event includes below its entity: what a deletion included, what an import wrote.

Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from tocsin.delivery.lines import ChangeLine, Rank
from tocsin.model.change import ChangeEvent, ImportedCount
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import count_text, in_words


def below_text(event: ChangeEvent) -> str:
    """Return how many entities below shared the fate of one, as its headline ends: ``, and 5,000 below it``."""
    return "" if event.below_count is None else f", and {event.below_count:,} below it"


def import_lines(event: ChangeEvent) -> list[ChangeLine]:
    """Return what an import wrote below an entity, ``312 tables added, 14 changed``; nothing of other events.

    Who may not read the numbers reads that something was imported.
    """
    if not event.is_import:
        return []
    counts = ", ".join(_count_text(count) for count in event.imported or ())
    return [ChangeLine(counts or "contents imported", rank=Rank.ADDED)]


def _count_text(count: ImportedCount) -> str:
    kind = ENTITY_TYPES.get(count.entity_type)
    plural = None if kind is None else in_words(kind.collection.rpartition("/")[2])
    noun = in_words(count.entity_type)
    if not count.created:
        return f"{count_text(count.updated, noun, plural)} changed"
    added = f"{count_text(count.created, noun, plural)} added"
    return f"{added}, {count.updated:,} changed" if count.updated else added
