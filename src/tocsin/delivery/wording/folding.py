"""Notifications of one asset that a message tells as one: its changes, each field from its first value to its last.

Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import chain
from types import UnionType

from tocsin.delivery.dispatch import Button, Dispatch
from tocsin.delivery.wording.change_requests import fold_requests
from tocsin.delivery.wording.importance import ToldKind, kind_of
from tocsin.delivery.wording.incidents import tells_of_incident
from tocsin.delivery.wording.net_members import net_members
from tocsin.delivery.wording.paths import EXTENSION, MEMBERS
from tocsin.delivery.wording.repeats import RepeatedChange
from tocsin.delivery.wording.reports import is_report
from tocsin.delivery.wording.values import parse_json
from tocsin.model import fqn
from tocsin.model.change import LINEAGE, ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.change_request import RequestStatus, request_in
from tocsin.model.message import Entry
from tocsin.model.phrases import list_text
from tocsin.model.thread import THREAD

_UPDATES = frozenset({EventType.ENTITY_UPDATED, EventType.ENTITY_FIELDS_CHANGED})
_OF_REQUESTS = frozenset({EventType.CHANGE_REQUEST_UPDATED, EventType.CHANGE_REQUEST_REMINDER})
_OBJECTS = frozenset({"certification", "tablePartition", "tableProfilerConfig", "dataModel", "lifeCycle"})
"""Fields with one value, which is an object."""

_CHANGES = frozenset({ToldKind.BREAKING, ToldKind.CHANGE})


def fold_repeated(dispatch: Dispatch) -> Dispatch:
    """Return a message in which the changes of an asset are one notification, and so are results of one test.

    Changes are folded field by field; of results, only the last one is told. Each says of how many notifications it is
    (``Entry.told_count``). A change request is one as well: how it is in the end, and what happened to it. Changes of
    another kind (``ToldKind``), that have another reason, were announced otherwise or have other guidance, stay apart,
    and so does what a template words.
    """
    counts = Counter(entry.event.entity_id for entry in dispatch.entries)
    if len(counts) == len(dispatch.entries):
        return dispatch
    groups: dict[Hashable, list[Entry]] = defaultdict(list)
    for place, entry in enumerate(dispatch.entries):
        is_alone = counts[entry.event.entity_id] == 1
        groups[place if is_alone else _group_of(entry, dispatch) or place].append(entry)
    if len(groups) == len(dispatch.entries):
        return dispatch
    buttons = {
        entries[-1].notification_id: group_buttons
        for entries in groups.values()
        if (group_buttons := _buttons_of(entries, dispatch))
    }
    return replace(dispatch, entries=tuple(_fold(entries) for entries in groups.values()), buttons=buttons)


def _buttons_of(entries: Sequence[Entry], dispatch: Dispatch) -> tuple[Button, ...]:
    """Return the buttons of notifications that are told as one, each once."""
    return tuple(dict.fromkeys(one for entry in entries for one in dispatch.buttons.get(entry.notification_id, ())))


def _group_of(entry: Entry, dispatch: Dispatch) -> Hashable:
    """Return what notifications have in common that are told as one; None for one that is told by itself."""
    event, identity = entry.event, entry.notification_id
    if identity in dispatch.texts or entry.whole_id is not None or event.entity_type == THREAD:
        return None
    kind, guidance = kind_of(entry), dispatch.guidance.get(identity)
    if is_report(event):
        number = entry.incident.number if entry.incident else None
        return kind, event.entity_id, event.event_type, guidance, dispatch.incidents.get(identity), number
    if (
        event.event_type in _OF_REQUESTS
        and (request := request_in(event))
        and request.get("status") != RequestStatus.DUE
    ):
        return event.entity_id, request.get("id"), guidance
    is_worded_otherwise = event.is_import or entry.carried.is_recursive or tells_of_incident(event)
    if kind not in _CHANGES or event.event_type not in _UPDATES or event.entity is None or is_worded_otherwise:
        return None
    return kind, event.entity_id, guidance, event.reason, event.announcements


def _fold(entries: Sequence[Entry]) -> Entry:
    """Return notifications of one group as one, in the place of the last."""
    last = entries[-1]
    if len(entries) == 1:
        return last
    reasons = tuple(dict.fromkeys(reason for entry in entries for reason in entry.reasons))
    events = [entry.event for entry in entries]
    if last.event.event_type in _OF_REQUESTS:
        return replace(last.with_event(fold_requests(events)), reasons=reasons)
    folded = last if is_report(last.event) else last.with_event(_fold_events(events))
    return replace(folded, reasons=reasons, told_count=sum(entry.told_count for entry in entries))


def _fold_events(events: Sequence[ChangeEvent]) -> ChangeEvent:
    reasons = tuple(dict.fromkeys(reason for event in events for reason in event.breaking_reasons or ()))
    is_of_several = len({event.user_id for event in events}) > 1
    return events[-1].model_copy(
        update={
            **({"user_id": None} if is_of_several else {}),
            "change_description": _fold_changes([event.change_description or ChangeDescription() for event in events]),
            "previous_version": events[0].previous_version,
            "user_name": list_text(list(dict.fromkeys(event.user_name for event in events if event.user_name))) or None,
            "breaking_reasons": reasons or None,
        }
    )


def _fold_changes(descriptions: Sequence[ChangeDescription]) -> ChangeDescription:
    """Return the changes of several events as one: a field that has one value from its first to its last.

    Members that come or go, such as columns, and edges of lineage are told by what became of each.
    """
    members = net_members([_with_changes(one, _is_of_member) for one in descriptions])
    told_apart = [members, *(_with_changes(one, _is_apart) for one in descriptions)]
    changes = [change for one in descriptions for change in _all_changes(one) if _is_of_value(change)]
    firsts = {change.name: change for change in reversed(changes)}
    lasts = {change.name: change for change in changes}
    times = Counter(change.name for change in changes)
    across = [_across(firsts[name], last, times[name]) for name, last in lasts.items()]
    arrivals = [one for one in across if one.old_value is None and one.new_value is not None]
    departures = [one for one in across if one.old_value is not None and one.new_value is None]
    updates = [one for one in across if (one.old_value is None) == (one.new_value is None)]
    return ChangeDescription(
        fields_added=(*chain.from_iterable(one.fields_added for one in told_apart), *arrivals),
        fields_updated=(*chain.from_iterable(one.fields_updated for one in told_apart), *updates),
        fields_deleted=(*chain.from_iterable(one.fields_deleted for one in told_apart), *departures),
    )


def _all_changes(description: ChangeDescription) -> tuple[FieldChange, ...]:
    return (*description.fields_added, *description.fields_updated, *description.fields_deleted)


def _with_changes(description: ChangeDescription, is_kept: Callable[[FieldChange], bool]) -> ChangeDescription:
    return ChangeDescription(
        fields_added=tuple(filter(is_kept, description.fields_added)),
        fields_updated=tuple(filter(is_kept, description.fields_updated)),
        fields_deleted=tuple(filter(is_kept, description.fields_deleted)),
    )


def _is_of_member(change: FieldChange) -> bool:
    """Return whether members of a list, such as columns, or an edge of lineage come or go."""
    path = fqn.steps_of(change.name)
    is_in_list = path[0] != EXTENSION and path[-1] in MEMBERS and _holds(change, list | tuple)
    return not change.is_update() and (is_in_list or path == [LINEAGE])


def _is_apart(change: FieldChange) -> bool:
    """Return whether a change is told each time: its name alone does not say of what it is."""
    is_of_list = not change.is_update() and _holds(change, list | tuple)
    is_of_object = change.name not in _OBJECTS and _holds(change, dict)
    return not _is_of_member(change) and (is_of_list or is_of_object)


def _holds(change: FieldChange, kind: type | UnionType) -> bool:
    return any(isinstance(parse_json(value), kind) for value in (change.old_value, change.new_value))


def _is_of_value(change: FieldChange) -> bool:
    """Return whether a field that has one value changed."""
    return not (_is_of_member(change) or _is_apart(change))


def _across(first: FieldChange, last: FieldChange, times: int) -> FieldChange:
    """Return the change from the value before the first to that after the last."""
    if first is last:
        return first
    return RepeatedChange(name=first.name, old_value=first.old_value, new_value=last.new_value, times=times)
