"""Routes of marking entries of a person's inbox: read, done, saved, snoozed, and back; what is seen in a list.

Every answer has what brings the earlier states back. Next: ``store/outbox/inbox_marks.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from fastapi import Response

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.inbox import (
    MOST_RESTORED,
    EarlierState,
    EntryState,
    Mark,
    Marked,
    MarkRequest,
    Snooze,
    SnoozeEnd,
    StateRequest,
    TabCounts,
)
from tocsin.model.inbox_filter import EntryFilter
from tocsin.server.access.inbox import InboxView, MatchingMarked
from tocsin.server.alerts.event_shape import STATE, TAB_COUNTS, counts_json, state_json
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.errors import parse_as
from tocsin.server.http.json_schema import COUNT, ID, TEXT, array, closed_object, exact_object
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.inbox.entry_filters import check_filter
from tocsin.server.openapi.operations import answers
from tocsin.server.request import DocumentBody, PartsHere, PathId, RequestActor, answer
from tocsin.server.routes.notifications.inbox import Owner, inbox_cursor, parse_cursor, view_of
from tocsin.store.outbox.inbox import PageOf

router = DeclaredRoutes(prefix="/users/{user_id}/notifications", tags=["inbox"])


class MarkedView(NamedTuple):
    """What was marked, and the counts of the inbox since then; with a filter also how many it has found, and where.

    ``through`` is the offset of the log beyond which the filter has left everything alone.
    """

    marked: Marked
    counts: TabCounts
    matching: MatchingMarked | None = None
    through: int | None = None


_STATES = schema_of(STATE)
_EARLIER = closed_object({**_STATES["properties"], "ids": array(ID)}, required=[*_STATES["required"], "ids"])
MARKED: Shape[MarkedView] = {
    "marked": (COUNT, lambda view: view.marked.entry_count),
    "notificationCount": (COUNT, lambda view: view.marked.notification_count),
    "missing": (array(ID), lambda view: list(view.marked.missing)),
    "undo?": (exact_object({"states": array(_EARLIER)}), lambda view: _undo_of(view.marked)),
    "counts": (schema_of(TAB_COUNTS), lambda view: counts_json(view.counts)),
    "matched?": (COUNT, lambda view: view.matching.matched_count if view.matching else None),
    "after?": (TEXT, lambda view: inbox_cursor(view.matching.after) if view.matching and view.matching.after else None),
    "through?": (COUNT, lambda view: view.through),
}
"""What was marked. ``undo`` is the body of a request that brings the earlier states back, if anything has changed.

With a filter, ``matched`` says how many entries it has found; ``after`` and ``through`` go on with those that follow.
"""


@router.post("/marks", openapi_extra=answers("MarkedEntries", schema_of(MARKED), reads="MarkRequest", never="409"))
def mark_entries(owner: Owner, sender: RequestActor, body: DocumentBody, parts: PartsHere) -> Response:
    """Mark entries, each with all notifications that it stands for, or bring back states that they had.

    A ``filter`` takes the place of ``ids``: at most 1,000 entries that it finds are marked, or with ``dryRun`` only
    counted, and the answer says ``after`` which further ones begin.
    """
    request = parse_as(MarkRequest, body)
    if (request.states is None) == (request.mark is None):
        raise InvalidInput("Send ids or filter and as, or states, and only one.")
    view = view_of(owner, sender, parts)
    if request.entry_filter is not None:
        return answer(json_of(MARKED, _mark_matching(request, request.entry_filter, view)))
    marked = _mark(request, view) if request.states is None else _restore(request.states, view)
    return answer(json_of(MARKED, MarkedView(marked, view.counts())))


@router.put("/seen", openapi_extra=answers("Marked", never="409"))
def mark_seen(owner: Owner, parts: PartsHere) -> Response:
    """Mark all unread notifications as seen in a list: they stay unread."""
    return answer({"marked": parts.inbox.mark_seen(owner, parts.clock.now_ms())})


@router.put("/read", openapi_extra=answers("Marked", never="409"))
def mark_all_read(owner: Owner, sender: RequestActor, parts: PartsHere) -> Response:
    """Mark all notifications that the inbox shows as read."""
    return answer({"marked": view_of(owner, sender, parts).mark_all_read()})


@router.put("/{notification_id}/read", openapi_extra=answers("MarkedOne", never="409"))
def mark_read(notification_id: PathId, owner: Owner, sender: RequestActor, parts: PartsHere) -> Response:
    """Mark one entry as read, with all notifications that it stands for."""
    view_of(owner, sender, parts).mark_read(str(notification_id))
    return answer({"id": str(notification_id), "read": True})


def _mark_matching(request: MarkRequest, entry_filter: EntryFilter, view: InboxView) -> MarkedView:
    if request.mark is None or request.ids is not None:
        raise InvalidInput("goes with as, without ids and states", field="filter")
    check_filter(entry_filter)
    snooze = _checked_snooze(request, view.now_ms)
    if snooze is not None and snooze.end is SnoozeEnd.RESOLVED:
        raise InvalidInput("must be a time, or changed: not all that a filter finds has an incident", field="until")
    through = view.inbox.reach().newest.offset if request.through is None else request.through
    kind = PageOf(request.tab, entry_filter=entry_filter, through=through)
    place = parse_cursor(request.after) if request.after else None
    matching = view.mark_matching(kind, place, request.mark, snooze, is_dry_run=request.is_dry_run)
    return MarkedView(matching.marked, view.counts(), matching, through)


def _checked_snooze(request: MarkRequest, now_ms: int) -> Snooze | None:
    """Return until when a request snoozes, if it does."""
    if (request.mark is Mark.SNOOZED) != (request.until is not None):
        raise InvalidInput("until is for what is snoozed, which needs it", field="until")
    if request.until is None:
        return None
    snooze = _snooze(request.until)
    if snooze.end is None and snooze.until_ms <= now_ms:
        raise InvalidInput("must not be in the past", field="until")
    return snooze


def _mark(request: MarkRequest, view: InboxView) -> Marked:
    mark, snooze = request.mark or Mark.READ, _checked_snooze(request, view.now_ms)
    if request.is_dry_run:
        raise InvalidInput("is for a filter", field="dryRun")
    if request.ids is None:
        raise InvalidInput("is missing", field="ids")
    ids = list(dict.fromkeys(map(str, request.ids)))
    present_ids = view.present_ids(ids)
    shown_ids = [one for one in ids if one in present_ids]
    result = view.mark(shown_ids, mark, snooze)
    return _with_missing(result, [one for one in ids if one not in present_ids])


def _restore(states: Collection[StateRequest], view: InboxView) -> Marked:
    named_ids = [str(one) for state in states for one in state.ids]
    if len(named_ids) > MOST_RESTORED:
        raise InvalidInput(f"at most {MOST_RESTORED} notifications at once", field="states")
    if len(set(named_ids)) < len(named_ids):
        raise InvalidInput("a notification is named twice", field="states")
    if any(state.is_done and state.snoozed_until is not None for state in states):
        raise InvalidInput("what is done cannot be snoozed", field="states")
    present_ids = view.present_ids(named_ids)
    earlier = [
        EarlierState(_state_of(state), tuple(one for one in map(str, state.ids) if one in present_ids))
        for state in states
    ]
    result = view.inbox.restore(view.owner, earlier, view.now_ms)
    return _with_missing(result, sorted(set(named_ids) - present_ids))


def _with_missing(marked: Marked, hidden_ids: Collection[str]) -> Marked:
    return replace(marked, missing=(*marked.missing, *hidden_ids))


def _state_of(state: StateRequest) -> EntryState:
    snooze = None if state.snoozed_until is None else _snooze(state.snoozed_until)
    return EntryState(state.is_read, state.is_seen or state.is_read, state.is_done, state.is_saved, snooze)


def _snooze(until: int | SnoozeEnd) -> Snooze:
    return Snooze(end=until) if isinstance(until, SnoozeEnd) else Snooze(until)


def _undo_of(marked: Marked) -> Document | None:
    if not marked.earlier:
        return None
    return {"states": [{**state_json(earlier.state), "ids": list(earlier.ids)} for earlier in marked.earlier]}
