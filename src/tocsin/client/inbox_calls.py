"""Request builders for the states of notifications: marks, and what brings earlier states back.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from tocsin.client.call import ApiCall, Filter
from tocsin.model.entity import Document

_FILTER_KEYS = {"start_ts": "startTs", "end_ts": "endTs"}


def mark_notifications(
    user_id: str, mark: str, ids: Sequence[str], *, until: datetime | str | None = None
) -> ApiCall[Document]:
    """Mark entries of a user's inbox: read, done, saved, snoozed, or back: unread, undone, unsaved, unsnoozed.

    ``until`` is when what is snoozed comes back: a time, or ``changed`` or ``resolved``. The answer counts ``marked``
    entries; its ``undo`` is what ``restore_notifications`` takes.
    """
    body: Document = {"as": mark, "ids": list(ids)}
    return _marks(user_id, {**body, **_until(until)})


def mark_matching_notifications(
    user_id: str,
    mark: str,
    *,
    until: datetime | str | None = None,
    dry_run: bool = False,
    **criteria: Filter | None,
) -> ApiCall[Document]:
    """Mark at most 1,000 entries that a filter finds, or only count them with ``dry_run``; ``matched`` says how many.

    Filters are those of ``notifications``, with ``tab``. While the answer has an ``after``, pass it on with its
    ``through``, so that what comes meanwhile is left alone.
    """
    values: Document = {_FILTER_KEYS.get(name, name): value for name, value in criteria.items() if value is not None}
    places: Document = {name: values.pop(name) for name in ("tab", "after", "through") if name in values}
    return _marks(user_id, {"as": mark, "filter": values, "dryRun": dry_run, **places, **_until(until)})


def restore_notifications(user_id: str, undo: Document) -> ApiCall[Document]:
    """Bring back the states that notifications had before they were marked."""
    return _marks(user_id, undo)


def mark_seen(user_id: str) -> ApiCall[Document]:
    """Mark a user's unread notifications as seen in a list."""
    return ApiCall("PUT", f"users/{quote(user_id, safe='')}/notifications/seen", _document)


def _until(until: datetime | str | None) -> Document:
    if until is None:
        return {}
    return {"until": int(until.timestamp() * 1_000) if isinstance(until, datetime) else until}


def _marks(user_id: str, body: Document) -> ApiCall[Document]:
    return ApiCall("POST", f"users/{quote(user_id, safe='')}/notifications/marks", _document, body=body)


def _document(answer: Any) -> Document:  # Any: JSON whose shape the server defines
    return dict(answer)
