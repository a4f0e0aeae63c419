"""Request builders for the editors of an alert: list them, take the alert over.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from urllib.parse import quote

from tocsin.client.call import ApiCall
from tocsin.model.entity import Document


def alert_editors(subscription_id: str) -> ApiCall[Document]:
    """Return the editors of an alert (``data``), which covers only what all of them may view."""
    return ApiCall("GET", _path(subscription_id, "editors"), lambda answer: answer)


def take_over_alert(subscription_id: str) -> ApiCall[Document]:
    """Become the only editor of an alert, which then covers what you may view; return its editors."""
    return ApiCall("PUT", _path(subscription_id, "takeOver"), lambda answer: answer)


def _path(subscription_id: str, action: str) -> str:
    return f"events/subscriptions/{quote(subscription_id, safe='')}/{action}"
