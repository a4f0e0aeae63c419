"""Marks of what a change means for who reads the asset: breaking, and how change requests announced it.

Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tocsin.delivery.lines import ChangeLine
from tocsin.delivery.wording.values import TYPE_KEYS
from tocsin.model import fqn
from tocsin.model.announcement import words_of_announcement
from tocsin.model.breaking import BreakingKind, BreakingReason
from tocsin.model.change import ChangeEvent, EventType

_PARTS_OF_TYPES = frozenset((*TYPE_KEYS, "constraint"))
_SCHEMA_TEXT = "schemaText"
_OF_TEXTS = frozenset({BreakingKind.SCHEMA_INCOMPATIBLE, BreakingKind.SIGNATURE_CHANGED})
"""Reasons that say what breaks in a text, of which its line says only that it has changed."""

_OF_ALL = frozenset({EventType.ENTITY_SOFT_DELETED, EventType.ENTITY_DELETED})
"""Types of events whose headlines say what is said of the asset as a whole."""


def marked_lines(located: Iterable[tuple[Sequence[str], ChangeLine]], event: ChangeEvent) -> Iterator[ChangeLine]:
    """Yield lines of changes at their paths, those that tell a reason marked, then a line for each other reason.

    What happened as announced is marked as well.
    """
    reasons, shown_paths = event.breaking_reasons or (), set[str]()
    broken_reasons = {reason.field: reason for reason in reversed(reasons) if reason.field}
    announcements = {one.field: one for one in event.announcements or () if one.field}
    for path, line in located:
        places = {fqn.join(path), fqn.join([*path, line.name]) if line.name else ""}
        if path[-1] in _PARTS_OF_TYPES or path[-1] == _SCHEMA_TEXT:
            places.add(fqn.join(path[:-1]))
        if place := next((one for one in broken_reasons if one in places), None):
            shown_paths |= broken_reasons.keys() & places
            if broken_reasons[place].kind in _OF_TEXTS:
                line = line._replace(text=broken_reasons[place].in_words(), lead="")
            yield line.as_breaking(_announcement_text(broken_reasons[place], event))
        elif place := next((one for one in announcements if one in places), None):
            yield line.with_mark(announcements[place].in_words())
        else:
            yield line
    for reason in reasons:
        is_of_all = reason.kind is BreakingKind.DELETED_WHILE_READ or (not reason.field and event.event_type in _OF_ALL)
        if reason.field not in shown_paths and not is_of_all:
            is_told = reason.kind is BreakingKind.UNLIKE_ANNOUNCED
            yield ChangeLine(reason.in_words()).as_breaking("" if is_told else _announcement_text(reason, event))


def _announcement_text(reason: BreakingReason, event: ChangeEvent) -> str:
    return words_of_announcement(reason, event.breaking_reasons or (), event.announcements)


def marks_of_whole(event: ChangeEvent) -> str:
    """Return what a headline says of the deletion of an asset: that something reads it, and how it was announced."""
    reason = next((one for one in event.breaking_reasons or () if not one.field), None)
    if reason is None:
        announcement = next((one for one in event.announcements or () if not one.field), None)
        return "" if announcement is None else f" {announcement.in_words()}"
    read = " while something reads it" if reason.kind is BreakingKind.DELETED_WHILE_READ else ""
    announced = _announcement_text(reason, event)
    return f"{read}, {announced}" if announced else read
