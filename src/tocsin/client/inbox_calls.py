"""Request builders for the states of notifications: marks, and what brings earlier states back.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from tocsin.client.call import ApiCall
from tocsin.model.entity import Document


def mark_notifications(
    user_id: str, mark: str, ids: Sequence[str], *, until: datetime | str | None = None
) -> ApiCall[Document]:
    """Mark entries of a user's inbox: read, done, saved, snoozed, or back: unread, undone, unsaved, unsnoozed.

    ``until`` is when what is snoozed comes back: a time, or ``changed`` or ``resolved``. The answer counts ``marked``
    entries; its ``undo`` is what ``restore_notifications`` takes.
    """
    body: Document = {"as": mark, "ids": list(ids)}
    if until is not None:
        body["until"] = int(until.timestamp() * 1_000) if isinstance(until, datetime) else until
    return _marks(user_id, body)


def restore_notifications(user_id: str, undo: Document) -> ApiCall[Document]:
    """Bring back the states that notifications had before they were marked."""
    return _marks(user_id, undo)


def mark_seen(user_id: str) -> ApiCall[Document]:
    """Mark a user's unread notifications as seen in a list."""
    return ApiCall("PUT", f"users/{quote(user_id, safe='')}/notifications/seen", _document)


def _marks(user_id: str, body: Document) -> ApiCall[Document]:
    return ApiCall("POST", f"users/{quote(user_id, safe='')}/notifications/marks", _document, body=body)


def _document(answer: Any) -> Document:  # Any: JSON whose shape the server defines
    return dict(answer)
