"""Repeated changes of one field of an asset, which a message tells as one: from its first value to its last.

Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.wording.reports import is_report
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.message import Entry

_UPDATES = frozenset({EventType.ENTITY_UPDATED, EventType.ENTITY_FIELDS_CHANGED})


def fold_repeated(dispatch: Dispatch) -> Dispatch:
    """Return a message in which changes of an asset that repeat each other are one notification, in the last's place.

    A change repeats the one before it if both are of one field, and it begins with the value that the other ended with.
    One that undoes the other, has another reason, or was announced otherwise, stays by itself, and so does what a
    template words.
    """
    folded_entries: dict[int, Entry] = {}
    latest_places: dict[str, int] = {}
    for place, entry in enumerate(dispatch.entries):
        before = folded_entries.get(latest_places.get(entry.event.entity_id, -1))
        joint_entry = (
            _merge_notifications(before, entry)
            if before and _are_worded_here((before, entry), dispatch.texts)
            else None
        )
        if joint_entry:
            del folded_entries[latest_places[entry.event.entity_id]]
        folded_entries[place] = joint_entry or entry
        latest_places[entry.event.entity_id] = place
    return (
        replace(dispatch, entries=tuple(folded_entries.values()))
        if len(folded_entries) < len(dispatch.entries)
        else dispatch
    )


def _are_worded_here(entries: Sequence[Entry], texts: Collection[str]) -> bool:
    return not any(entry.notification_id in texts for entry in entries)


def _merge_notifications(before: Entry, after: Entry) -> Entry | None:
    """Return two notifications as one; None where the second repeats no change of the first, or tells of a report."""
    events = (before.event, after.event)
    if any(event.event_type not in _UPDATES or is_report(event) or event.entity is None for event in events):
        return None
    if (before.event.reason, before.event.announcements) != (after.event.reason, after.event.announcements):
        return None
    description = _merge_changes(*(event.change_description or ChangeDescription() for event in events))
    if description is None:
        return None
    event = after.event.model_copy(
        update={
            "change_description": description,
            "previous_version": before.event.previous_version,
            "user_name": _names_of(events),
            "breaking_reasons": _reasons_of(events),
        }
    )
    reasons = tuple(dict.fromkeys((*before.reasons, *after.reasons)))
    return replace(after.with_event(event), reasons=reasons)


def _merge_changes(before: ChangeDescription, after: ChangeDescription) -> ChangeDescription | None:
    """Return the changes of two events as one.

    None where no field changed twice, one changed in between as well, or has its first value again.
    """
    earlier = {change.name: change for change in before.fields_updated}
    later = {change.name: change for change in after.fields_updated}
    shared_names = [name for name in later if name in earlier]
    if not shared_names or any(earlier[name].new_value != later[name].old_value for name in shared_names):
        return None
    if any(earlier[name].old_value == later[name].new_value for name in shared_names):
        return None
    updates = [_change_across(change, later.get(change.name, change)) for change in before.fields_updated]
    updates += [change for change in after.fields_updated if change.name not in earlier]
    return ChangeDescription(
        fields_added=(*before.fields_added, *after.fields_added),
        fields_updated=tuple(updates),
        fields_deleted=(*before.fields_deleted, *after.fields_deleted),
        previous_version=before.previous_version,
    )


def _change_across(first: FieldChange, last: FieldChange) -> FieldChange:
    return FieldChange(name=first.name, old_value=first.old_value, new_value=last.new_value)


def _names_of(events: Sequence[ChangeEvent]) -> str | None:
    names = dict.fromkeys(name for event in events for name in (event.user_name or "").split(_AND) if name)
    return _AND.join(names) or None


def _reasons_of(events: Sequence[ChangeEvent]) -> tuple[object, ...] | None:
    return tuple(dict.fromkeys(reason for event in events for reason in event.breaking_reasons or ())) or None


_AND = " and "
