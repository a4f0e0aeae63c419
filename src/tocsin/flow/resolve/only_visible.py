"""Removal of reasons that concern an entity which the recipient may not see, and of notifications without reasons.

Next: ``jobs/resolving.py``, which applies it before notifications are stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import orjson

from tocsin.access.permission_cache import PolicySnapshot
from tocsin.access.visibility import Subject
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.notification import ReasonKind

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
    """Return the notifications that may be stored, each with the reasons whose viewers may see the subjects.

    Every reason is judged by itself (``viewers_of``), so that no alert takes away what another one sends. Where reasons
    are left out, the columns that follow from them change with ``reasons``. While everybody may view everything,
    nothing is looked up. Otherwise the cost depends on these recipients and events, not on the number of people and
    policies.
    """
    notified = list(rows)
    if policies.are_all_open():
        return notified
    about = events.subjects({row["log_offset"] for row in notified})
    asked = {offset for offset, subjects in about.items() if not all(policies.is_open(kind) for kind, _ in subjects)}
    judged = [row for row in notified if row["log_offset"] in asked]
    named = {one["subscriptionId"] for row in judged for one in _reasons_in(row["reasons"]) if _is_external(one)}
    editors = events.editors_of(named) if named else {}
    seen: dict[tuple[str, int], bool] = {}

    def may_see(viewer: str, offset: int) -> bool:
        if (viewer, offset) not in seen:
            permissions = policies.of(viewer)
            seen[viewer, offset] = all(permissions.may(Operation.VIEW_BASIC, *one) for one in about[offset])
        return seen[viewer, offset]

    def shown(row: NotificationRow) -> NotificationRow | None:
        if row["log_offset"] not in asked:
            return row
        every = _reasons_in(row["reasons"])
        kept = [
            one for one in every if all(may_see(viewer, row["log_offset"]) for viewer in _viewers(one, row, editors))
        ]
        return row if len(kept) == len(every) else _with(row, kept) if kept else None

    policies.of_many({row["recipient_id"] for row in judged if row["recipient_id"]})
    return [left for row in notified if (left := shown(row)) is not None]


def viewers_of(
    kind: str, subscription_id: str, recipient_id: str | None, editors: Mapping[str, Sequence[str]]
) -> Sequence[str]:
    """Return the ids of those who must be able to see an event that is sent for a reason of this kind and alert.

    That is the person whom it concerns. For an address or endpoint that an alert names, it is the alert's creator and
    all its later editors: so redirecting an alert reveals no more than its editor may see. Nobody for Tocsin's own
    alerts.
    """
    if recipient_id is not None and kind != ReasonKind.EXTERNAL:
        return (recipient_id,)
    return editors.get(subscription_id, ())


def _viewers(reason: Document, row: NotificationRow, editors: Mapping[str, Sequence[str]]) -> Sequence[str]:
    return viewers_of(reason["kind"], reason["subscriptionId"], row["recipient_id"], editors)


def _is_external(reason: Document) -> bool:
    return bool(reason["kind"] == ReasonKind.EXTERNAL.value)


@lru_cache(maxsize=4_096)
def _reasons_in(text: str) -> tuple[Document, ...]:
    """Return the reasons in a JSON text; the followers of one asset all have the same text."""
    return tuple(orjson.loads(text))


def _with(row: NotificationRow, reasons: Sequence[Document]) -> NotificationRow:
    is_personal = not all(_is_external(one) for one in reasons)
    return {
        **row,
        "reasons": orjson.dumps(reasons).decode(),
        "recipient_id": row["recipient_id"] if is_personal else None,
        "subscription_id": reasons[0]["subscriptionId"],
        "destination_id": reasons[0]["destinationId"],
        "subscription_ids": list(dict.fromkeys(one["subscriptionId"] for one in reasons)),
    }
