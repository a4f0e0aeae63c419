"""Marks of what a change means for who reads the asset: breaking, and how change requests announced it.

Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

from tocsin.delivery.lines import ChangeLine
from tocsin.delivery.wording.paths import MEMBERS
from tocsin.delivery.wording.values import TYPE_KEYS
from tocsin.model import fqn
from tocsin.model.announcement import ANNOUNCEABLE, Announcement, ChangeOutcome, words_of_announcement
from tocsin.model.breaking import BreakingKind, BreakingReason
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.status import STANDINGS

_PARTS_OF_TYPES = frozenset((*TYPE_KEYS, "constraint"))
_SCHEMA_TEXT = "schemaText"
_CONSTRAINTS = "tableConstraints"
_OF_TEXTS = frozenset({BreakingKind.SCHEMA_INCOMPATIBLE, BreakingKind.SIGNATURE_CHANGED})
"""Reasons that say what breaks in a text, of which its line says only that it has changed."""

_OF_ASSETS = frozenset({"name", *STANDINGS})
"""Fields of what a change request may announce of an asset as a whole, besides its removal."""

_OF_ALL = frozenset({EventType.ENTITY_SOFT_DELETED, EventType.ENTITY_DELETED})
"""Types of events whose headlines say what is said of the asset as a whole."""


def marked_lines(located: Iterable[tuple[Sequence[str], ChangeLine]], event: ChangeEvent) -> Iterator[ChangeLine]:
    """Yield lines of changes at their paths, those that tell a reason marked, then a line for each other reason.

    What happened as announced is marked as well.
    """
    reasons, shown_paths, announcement_text = event.breaking_reasons or (), set[str](), _announcement_texts(event)
    broken_reasons = {reason.field: reason for reason in reversed(reasons) if reason.field}
    announcements = {one.field: one for one in event.announcements or () if one.field}
    of_asset = _announcements_of_asset(event)
    breaking_order, announced_order = (_order_of(fields) for fields in (broken_reasons, announcements))
    for path, line in located:
        places = {fqn.join(path), fqn.join([*path, line.name]) if line.name else ""}
        if path[-1] in _PARTS_OF_TYPES or path[-1] == _SCHEMA_TEXT:
            places.add(fqn.join(path[:-1]))
        place = _first_of(breaking_order, places)
        if place and line.name and broken_reasons[place].kind is BreakingKind.KEY_CHANGED and path[-1] in MEMBERS:
            yield line  # of a column that is new; what breaks readers is that it is a key
        elif place:
            shown_paths |= broken_reasons.keys() & places
            if broken_reasons[place].kind in _OF_TEXTS:
                line = line._replace(text=broken_reasons[place].in_words(), lead="")
            elif path[-1] == _CONSTRAINTS and line.old is not None:
                line = line._replace(text=broken_reasons[place].in_words(), lead="", old=None, new=None)
            yield line.as_breaking(announcement_text(broken_reasons[place]))
        else:
            yield _announced_line(
                line, announcements.get(_first_of(announced_order, places) or "") or of_asset.get(path[0])
            )
    for reason in reasons:
        is_of_all = reason.kind is BreakingKind.DELETED_WHILE_READ or (not reason.field and event.event_type in _OF_ALL)
        if reason.field not in shown_paths and not is_of_all:
            is_told = reason.kind is BreakingKind.UNLIKE_ANNOUNCED
            yield ChangeLine(reason.in_words()).as_breaking("" if is_told else announcement_text(reason))


def _announcements_of_asset(event: ChangeEvent) -> dict[str, Announcement]:
    """Return by field the request that announced what became of the asset itself, if it is so, and the only one."""
    announcements = [one for one in event.announcements or () if not one.field]
    if len(announcements) != 1 or event.event_type in _OF_ALL:
        return {}
    return dict.fromkeys(_OF_ASSETS, announcements[0]) if announcements[0].outcome is ChangeOutcome.AS_ANNOUNCED else {}


def _announced_line(line: ChangeLine, announcement: Announcement | None) -> ChangeLine:
    return line.with_mark(announcement.in_words()) if announcement else line


def _order_of(fields: Iterable[str]) -> dict[str, int]:
    return {field: order for order, field in enumerate(fields)}


def _first_of(order: Mapping[str, int], places: Set[str]) -> str | None:
    """Return that of these places which comes first in an order: there may be thousands in it."""
    return min(order.keys() & places, key=order.__getitem__, default=None)


def _announcement_texts(event: ChangeEvent) -> Callable[[BreakingReason], str]:
    """Return what says of a reason how that was announced; it looks through the announcements once."""
    announcements = event.announcements
    by_field = {one.field: one for one in reversed(announcements or ())}

    def announcement_text(reason: BreakingReason) -> str:
        of_field = [by_field[reason.field]] if reason.field in by_field else []
        relevant = of_field if announcements is not None and reason.kind in ANNOUNCEABLE else announcements
        return words_of_announcement(reason, event.breaking_reasons or (), relevant)

    return announcement_text


def marks_of_whole(event: ChangeEvent) -> str:
    """Return what a headline says of the deletion of an asset: that something reads it, and how it was announced."""
    reason = next((one for one in event.breaking_reasons or () if not one.field), None)
    if reason is None:
        announcement = next((one for one in event.announcements or () if not one.field), None)
        return "" if announcement is None else f" {announcement.in_words()}"
    read = " while something reads it" if reason.kind is BreakingKind.DELETED_WHILE_READ else ""
    announced = _announcement_texts(event)(reason)
    return f"{read}, {announced}" if announced else read
