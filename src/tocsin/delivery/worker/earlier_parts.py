"""What a message shows that a later one of its cause changes in place, so that it tells of both.

What readers may not see any more is taken out: rights are judged when sending. What is new and needs attention changes
nothing in place, because nobody is notified of that. Next: ``store/outbox/cause_threads.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tocsin.delivery.dispatch import Dispatch, Routes, narrow_dispatch
from tocsin.delivery.wording.importance import ToldKind, kind_of
from tocsin.model.message import Entry, OutcomeReason
from tocsin.model.notification import Reason
from tocsin.store.outbox.send_permission import Permitted

_CALM = frozenset({ToldKind.ADDITION, ToldKind.CHANGE})


def is_calm(dispatch: Dispatch) -> bool:
    """Return whether nothing of what a message tells needs attention."""
    return all(kind_of(entry) in _CALM for entry in dispatch.entries)


def with_earlier_entries(
    dispatch: Dispatch, shown_entries: Sequence[Entry], routes: Routes, permitted: Permitted
) -> Dispatch:
    """Return a message that tells also what the one shows that it changes, for the reasons of the same alerts.

    The store says what its readers may see of that, where not everybody may see everything.
    """
    thread = dispatch.cause_thread
    if thread is None:
        return dispatch

    def objection(_entry: Entry, reason: Reason) -> tuple[OutcomeReason, str] | None:
        has_route = routes.get(reason.destination_key) is not None
        return None if has_route else (OutcomeReason.DISABLED, "of another alert, or of none")

    own_ids = {entry.notification_id for entry in dispatch.entries}
    earlier = tuple(entry for entry in shown_entries if entry.notification_id not in own_ids)
    open_dispatch = narrow_dispatch(replace(dispatch, entries=earlier), objection)[0] if earlier else None
    visible_dispatch = permitted.visible_part(open_dispatch)[0] if open_dispatch is not None else None
    entries = visible_dispatch.entries if visible_dispatch is not None else ()
    is_reduced = len(entries) < len(earlier) or (visible_dispatch is not None and visible_dispatch.is_reduced)
    return replace(
        dispatch,
        entries=tuple(sorted((*entries, *dispatch.entries), key=lambda one: (one.log_offset, one.notification_id))),
        cause_thread=replace(thread, earlier=entries),
        is_reduced=dispatch.is_reduced or is_reduced,
    )
