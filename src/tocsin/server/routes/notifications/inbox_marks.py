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
from tocsin.server.access.inbox import InboxView
from tocsin.server.alerts.event_shape import COUNTS, STATE, counts_json, state_json
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.errors import parse_as
from tocsin.server.http.json_schema import COUNT, ID, array, closed_object, exact_object
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import DocumentBody, PartsHere, PathId, RequestActor, answer
from tocsin.server.routes.notifications.inbox import Owner, view_of

router = DeclaredRoutes(prefix="/users/{user_id}/notifications", tags=["inbox"])


class MarkedView(NamedTuple):
    """What was marked, and the counts of the inbox since then."""

    marked: Marked
    counts: TabCounts


_STATES = schema_of(STATE)
_EARLIER = closed_object({**_STATES["properties"], "ids": array(ID)}, required=[*_STATES["required"], "ids"])
MARKED: Shape[MarkedView] = {
    "marked": (COUNT, lambda view: view.marked.entry_count),
    "notificationCount": (COUNT, lambda view: view.marked.notification_count),
    "missing": (array(ID), lambda view: list(view.marked.missing)),
    "undo?": (exact_object({"states": array(_EARLIER)}), lambda view: _undo_of(view.marked)),
    "counts": (schema_of(COUNTS), lambda view: counts_json(view.counts)),
}
"""What was marked. ``undo`` is the body of a request that brings the earlier states back, if anything has changed."""


@router.post("/marks", openapi_extra=answers("MarkedEntries", schema_of(MARKED), reads="MarkRequest", never="409"))
def mark_entries(owner: Owner, sender: RequestActor, body: DocumentBody, parts: PartsHere) -> Response:
    """Mark entries, each with all notifications that it stands for, or bring back states that they had."""
    request = parse_as(MarkRequest, body)
    if (request.states is None) == (request.mark is None):
        raise InvalidInput("Send ids and as, or states, and only one.")
    view = view_of(owner, sender, parts)
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


def _mark(request: MarkRequest, view: InboxView) -> Marked:
    mark, snooze = request.mark or Mark.READ, None
    if (mark is Mark.SNOOZED) != (request.until is not None):
        raise InvalidInput("until is for what is snoozed, which needs it", field="until")
    if request.until is not None:
        snooze = _snooze(request.until)
        if snooze.end is None and snooze.until_ms <= view.now_ms:
            raise InvalidInput("must not be in the past", field="until")
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
