"""Decision whether a person may see an entity, used by every path that shows or sends anything.

Policies decide (``access/decide.py``), on the entity's current or last state; deleted users see nothing.
Next: ``flow/resolve/viewer.py`` for one person and many entities.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from tocsin.access.views import Moment
from tocsin.model.access import Operation
from tocsin.model.change import LINEAGE, VIOLATION, ChangeDescription, ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import Actor, Person
from tocsin.model.thread import THREAD

NotificationRow = Mapping[str, Any]  # Any: a notification's column, by its name
Subject = tuple[str, Document]
"""The type of an entity that an event is about, and its document as it is now, or was last."""

_CONCERNED = {LINEAGE: ("fromEntity", "toEntity"), VIOLATION: ("entity",)}
"""Field changes that concern other entities more than their own, and the keys that name those."""


class Events(Protocol):
    """Finds what events are about, by their places in the log."""

    def subjects(self, offsets: Collection[int]) -> Mapping[int, Sequence[Subject]]:
        """Return the subjects of each of these events: a recipient must be able to see all of them."""
        ...

    def behind(self, subscription_ids: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Return the creator and the editors of each of these alerts, by id; nobody for Tocsin's own."""
        ...


def concerned(event: ChangeEvent) -> list[Document]:
    """Return references to all subjects of an event: its entity or, of a thread, the asset that it is about.

    Other entities named by the event, such as the ends of an edge, are subjects, too.
    """
    if event.entity_type == THREAD:
        return [(event.entity or {}).get("entityRef") or {}]
    found: list[Document] = [{"type": event.entity_type, "id": event.entity_id}]
    change = event.change_description or ChangeDescription()
    for one in (*change.fields_added, *change.fields_updated, *change.fields_deleted):
        for key in _CONCERNED.get(one.name, ()):
            ends = (value.get(key) for value in (one.old_value, one.new_value) if isinstance(value, dict))
            found += [end for end in ends if isinstance(end, dict) and end.get("id")]
    return found


def may_view(viewer: Actor | Person, resource: str, document: Document, policies: Moment) -> bool:
    """Say whether ``viewer`` may see the entity of type ``resource`` in ``document``."""
    if isinstance(viewer, Person) and viewer.deleted:
        return False
    if viewer.is_admin or (not viewer.is_bot and policies.is_open(resource)):
        return True
    return policies.of(viewer.id).may(Operation.VIEW_BASIC, resource, document)


def only_visible(rows: Iterable[NotificationRow], policies: Moment, events: Events) -> list[NotificationRow]:
    """Return the notifications that may be sent: those whose recipient may see the subjects.

    A notification without a personal recipient (webhook, address) is sent on behalf of the alert's creator and all its
    later editors, who must all be able to see the subjects: so redirecting it reveals no more than the editor may see.
    While everybody may view everything, nothing is looked up. Otherwise the cost depends on these recipients and
    events, not on the number of people and policies.
    """
    told = list(rows)
    if all(policies.is_open(resource) for resource in ENTITY_TYPES):
        return told
    about = events.subjects({row["log_offset"] for row in told})
    asked = [row for row in told if not all(policies.is_open(kind) for kind, _ in about[row["log_offset"]])]
    behind = events.behind({row["subscription_id"] for row in asked if row["recipient_id"] is None})
    views = policies.of_many({viewer for row in asked for viewer in _viewers(row, behind)})

    def may_be_told(row: NotificationRow) -> bool:
        subjects = about[row["log_offset"]]
        viewers = (views[viewer] for viewer in _viewers(row, behind))
        return all(view.may(Operation.VIEW_BASIC, *one) for view in viewers for one in subjects)

    hidden = {row["id"] for row in asked if not may_be_told(row)}
    return [row for row in told if row["id"] not in hidden]


def _viewers(row: NotificationRow, behind: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the ids of those on whose behalf something is sent; none for Tocsin's own alerts."""
    recipient: str | None = row["recipient_id"]
    return (recipient,) if recipient is not None else behind.get(row["subscription_id"], ())
