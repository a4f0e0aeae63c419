"""Visibility check at the moment of sending: a recipient gets only what they may see then.

Days may pass between an event and its mail, and policies, tags and owners change. Next: ``worker/attempt.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Engine

from tocsin.access.viewer import Visibility
from tocsin.access.views import Views
from tocsin.flow.send.dispatch import Dispatch
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.message import Entry
from tocsin.store.access.entity_states import SqlEntityStates
from tocsin.store.access.views import SqlSubjects
from tocsin.store.alerts.event_subjects import SqlEvents


class Permitted:
    """What may be sent of the messages of one store."""

    def __init__(self, engine: Engine) -> None:
        self._views = Views(SqlSubjects(engine))
        self._standing = SqlEntityStates(engine)
        self._events = SqlEvents(engine)

    def now(self, dispatch: Dispatch) -> Dispatch | None:
        """Return a message without what its recipient may not see; None when that is all of it.

        Without a personal recipient the creator and the editors of the alert count. While everybody may view
        everything, nothing is looked up.
        """
        policies = self._views.now()
        if all(policies.is_open(resource) for resource in ENTITY_TYPES):
            return dispatch
        subscription_id = dispatch.message.subscription_id
        if dispatch.recipient_id is not None:
            viewers: Sequence[str] = (dispatch.recipient_id,)
        else:
            viewers = self._events.editors_of([subscription_id]).get(subscription_id, ())
        for viewer in viewers:
            entries = _seen_by(Visibility(policies.of(viewer), self._standing), dispatch.entries)
            if not entries:
                return None
            dispatch = replace(dispatch, entries=entries)
        return dispatch


def _seen_by(visibility: Visibility, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    shown = zip(entries, visibility.shown([one.event for one in entries]), strict=True)
    return tuple(
        replace(one, event=event, reasons=visibility.reasons(one.reasons)) for one, event in shown if event is not None
    )
