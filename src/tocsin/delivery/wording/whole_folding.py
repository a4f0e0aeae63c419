"""Notifications of a whole and of its parts, which a message to people tells as one, and what it says of the parts.

Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import orjson

from tocsin.delivery.dispatch import Dispatch, Guidance
from tocsin.delivery.lines import clean_line
from tocsin.delivery.rich_text import BlockKind, RichBlock, Span
from tocsin.delivery.wording.assets import TEST_CASE, TEST_SUITE, asset_of
from tocsin.delivery.wording.reasons import why_text
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.message import Entry

_MOST_NAMED = 10
_MOST_REASONS = 3
_TEXT_LIMIT = 1_000
_FATES = {
    EventType.ENTITY_CREATED: "created",
    EventType.ENTITY_SOFT_DELETED: "deleted",
    EventType.ENTITY_DELETED: "permanently deleted",
    EventType.ENTITY_RESTORED: "restored",
}
_TESTS = frozenset({TEST_CASE, TEST_SUITE})
_NAMES = frozenset({"name", "fullyQualifiedName"})

_Group = tuple[str, Guidance | None, str, EventType, bytes]
"""A whole, what is to be done about its parts, why their reader is told of them, and what happened to each."""


def fold_wholes(dispatch: Dispatch) -> Dispatch:
    """Return a message in which a whole and its parts are one notification.

    The whole leads where the message has it and says what happened to the part. Otherwise the first part leads those
    to which the same happened, and of which its reader is told for the same reasons; a test leads only tests. What
    breaks readers, was announced, has a button or other guidance, or is worded by a template stays by itself.
    """
    if not any(entry.whole_id for entry in dispatch.entries):
        return dispatch
    places_of_wholes = {
        (entry.carried.id, dispatch.guidance.get(entry.notification_id)): place
        for place, entry in enumerate(dispatch.entries)
        if entry.whole_id is None and entry.notification_id not in dispatch.texts
    }
    places_by_group: dict[_Group, list[int]] = defaultdict(list)
    parts_by_lead: dict[int, list[Entry]] = defaultdict(list)
    folded_places: set[int] = set()
    for place, entry in enumerate(dispatch.entries):
        if entry.whole_id is None or _is_told_apart(entry, dispatch):
            continue
        guidance = dispatch.guidance.get(entry.notification_id)
        is_by_whole = _is_told_by_its_whole(entry.event)
        lead = places_of_wholes.get((entry.whole_id, guidance)) if is_by_whole else None
        if lead is None:
            why = why_text(entry.event, entry.reasons, dispatch.message.channel)
            fate = b"" if is_by_whole else _fate_of(entry.event)
            places_by_group[entry.whole_id, guidance, why, entry.event.event_type, fate].append(place)
        elif lead != place:
            parts_by_lead[lead].append(entry)
            folded_places.add(place)
    for places in places_by_group.values():
        first = min(places, key=lambda place: (dispatch.entries[place].event.entity_type in _TESTS, place))
        other_places = [place for place in places if place != first]
        parts_by_lead[first] += [dispatch.entries[place] for place in other_places]
        folded_places.update(other_places)
    if not folded_places:
        return dispatch
    entries = (
        replace(entry, parts=tuple(parts_by_lead[place])) if parts_by_lead.get(place) else entry
        for place, entry in enumerate(dispatch.entries)
        if place not in folded_places
    )
    return replace(dispatch, entries=tuple(entries))


def _is_told_apart(entry: Entry, dispatch: Dispatch) -> bool:
    is_worded_apart = entry.notification_id in dispatch.texts or entry.notification_id in dispatch.buttons
    return is_worded_apart or entry.carried.is_breaking or bool(entry.event.announcements)


def _fate_of(event: ChangeEvent) -> bytes:
    """Return what changed, with the values before and after."""
    described = event.change_description
    if described is None:
        return b""
    changes = (described.fields_added, described.fields_updated, described.fields_deleted)
    return orjson.dumps([[one.as_wire() for one in some] for some in changes])


def _is_told_by_its_whole(event: ChangeEvent) -> bool:
    """Return whether the event of a whole says what that of its part does: but for imports, no values changed."""
    if event.event_type in _FATES:
        return True
    paths = event.change_description.paths() if event.change_description else ()
    return bool(paths) and _NAMES.issuperset(paths)


def part_blocks(lead: Entry, channel: str) -> Iterator[RichBlock]:
    """Yield what is told with a notification, and for which other reasons: a paragraph for each of the first three.

    ``With it: orders, customers and 3 more; you hear of each because you own it (alert Owners)``.
    """
    lead_why = why_text(lead.event, lead.reasons, channel)
    parts_by_why: dict[str, list[Entry]] = defaultdict(list)
    for part in lead.parts:
        parts_by_why[why_text(part.event, part.reasons, channel)].append(part)
    groups = list(parts_by_why.items())
    label = "With it" if lead.whole_id is None else _label_of(lead.event)
    for why, parts in groups[:_MOST_REASONS]:
        whom = "it" if len(parts) == 1 else "each"
        because = f"; you hear of {whom} because {why}" if why and why != lead_why else ""
        yield _paragraph(f"{label}: {_names_of(parts)}{because}")
    left_parts = [part for _, parts in groups[_MOST_REASONS:] for part in parts]
    if left_parts:
        yield _paragraph(f"{label}, for other reasons: {_names_of(left_parts)}")


def _label_of(first_part: ChangeEvent) -> str:
    """Return what stands before the names of parts to which the same happened as to the first."""
    fate = _FATES.get(first_part.event_type)
    return f"Also {fate}" if fate else "The same of"


def _names_of(parts: Sequence[Entry]) -> str:
    names = list(dict.fromkeys(asset_of(part.event).title for part in parts[:_MOST_NAMED]))
    left_count = len(parts) - len(parts[:_MOST_NAMED])
    return f"{', '.join(names)} and {left_count:,} more" if left_count else ", ".join(names)


def _paragraph(text: str) -> RichBlock:
    return RichBlock(BlockKind.PARAGRAPH, (Span(clean_line(text, limit=_TEXT_LIMIT)),))
