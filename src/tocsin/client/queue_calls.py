"""Request builders for queues: claim the events of an alert's queue, acknowledge, release and extend them.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from tocsin.client.call import ApiCall
from tocsin.model.entity import Document

LEASE_S = 60
"""Seconds that a claim lasts unless the caller says otherwise."""


def claim_events(subscription_id: str, *, limit: int = 1, lease_seconds: int = LEASE_S) -> ApiCall[Document]:
    """Claim the oldest free events of an alert's queue: ``data``, each with ``id``, ``lease`` and ``event``.

    Nobody else gets them for so many seconds. ``hasMore`` says that another claim may find some at once.
    """
    return _call(subscription_id, "claim", {"limit": limit, "leaseSeconds": lease_seconds})


def acknowledge_events(subscription_id: str, items: Iterable[Document]) -> ApiCall[Document]:
    """End claimed events as delivered, each given by ``id`` and ``lease``; return the ``state`` of each."""
    return _call(subscription_id, "acknowledge", {"items": _claims_of(items)})


def release_events(subscription_id: str, items: Iterable[Document]) -> ApiCall[Document]:
    """Give claimed events back: they can be claimed again at once."""
    return _call(subscription_id, "release", {"items": _claims_of(items)})


def extend_events(
    subscription_id: str, items: Iterable[Document], *, lease_seconds: int = LEASE_S
) -> ApiCall[Document]:
    """Keep claimed events: their leases end so many seconds from now."""
    return _call(subscription_id, "extend", {"items": _claims_of(items), "leaseSeconds": lease_seconds})


def _claims_of(items: Iterable[Document]) -> list[Document]:
    """Return what a request says of items that a claim has returned."""
    return [{key: one.get(key) for key in ("id", "lease")} for one in items]


def _call(subscription_id: str, action: str, body: Document) -> ApiCall[Document]:
    path = f"events/subscriptions/{quote(subscription_id, safe='')}/queue/{action}"
    return ApiCall("POST", path, lambda answer: answer, body=body)
