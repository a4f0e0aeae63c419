"""Removal of notifications whose recipient may not see what they are about.

Next: ``spark/sinks.py``, which applies it before notifications are stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from tocsin.access.views import PolicySnapshot
from tocsin.access.visibility import Subject
from tocsin.model.access import Operation
from tocsin.model.entity_types import ENTITY_TYPES

NotificationRow = Mapping[str, Any]  # Any: a notification's column, by its name


class Events(Protocol):
    """Finds what events are about, by their places in the log."""

    def subjects(self, offsets: Collection[int]) -> Mapping[int, Sequence[Subject]]:
        """Return the subjects of each of these events: a recipient must be able to see all of them."""
        ...

    def editors_of(self, subscription_ids: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Return the creator and the editors of each of these alerts, by id; nobody for Tocsin's own."""
        ...


def only_visible(rows: Iterable[NotificationRow], policies: PolicySnapshot, events: Events) -> list[NotificationRow]:
    """Return the notifications that may be sent: those whose recipient may see the subjects.

    A notification without a personal recipient (webhook, address) is sent on behalf of the alert's creator and all its
    later editors, who must all be able to see the subjects: so redirecting it reveals no more than the editor may see.
    While everybody may view everything, nothing is looked up. Otherwise the cost depends on these recipients and
    events, not on the number of people and policies.
    """
    notified = list(rows)
    if all(policies.is_open(resource) for resource in ENTITY_TYPES):
        return notified
    about = events.subjects({row["log_offset"] for row in notified})
    asked = [row for row in notified if not all(policies.is_open(kind) for kind, _ in about[row["log_offset"]])]
    editors = events.editors_of({row["subscription_id"] for row in asked if row["recipient_id"] is None})
    views = policies.of_many({viewer for row in asked for viewer in _viewers(row, editors)})

    def may_be_notified(row: NotificationRow) -> bool:
        subjects = about[row["log_offset"]]
        viewers = (views[viewer] for viewer in _viewers(row, editors))
        return all(view.may(Operation.VIEW_BASIC, *one) for view in viewers for one in subjects)

    hidden = {row["id"] for row in asked if not may_be_notified(row)}
    return [row for row in notified if row["id"] not in hidden]


def _viewers(row: NotificationRow, editors: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the ids of those on whose behalf something is sent; none for Tocsin's own alerts."""
    recipient: str | None = row["recipient_id"]
    return (recipient,) if recipient is not None else editors.get(row["subscription_id"], ())
