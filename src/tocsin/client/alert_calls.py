"""Request builders for what watches an asset, the editors of an alert, and the events of its queue.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from tocsin.client.answers import Entity
from tocsin.client.call import ApiCall, read_document
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES

LEASE_S = 60
"""Seconds that a claim lasts unless the caller says otherwise."""


def alert_editors(subscription_id: str) -> ApiCall[Document]:
    """Return the editors of an alert (``data``), which covers only what all of them may view."""
    return ApiCall("GET", _path(subscription_id, "editors"), read_document)


def watching_alerts(asset: Entity) -> ApiCall[Document]:
    """Return the enabled alerts that may notify of an asset (``data``), each with whom it tells (``tells``).

    An alert that watches a table through its tests and suites alone names these (``through``).
    """
    path = f"{ENTITY_TYPES[asset.entity_type].collection}/{quote(asset.id, safe='')}/alerts"
    return ApiCall("GET", path, read_document)


def take_over_alert(subscription_id: str) -> ApiCall[Document]:
    """Become the only editor of an alert, which then covers what you may view; return its editors."""
    return ApiCall("PUT", _path(subscription_id, "takeOver"), read_document)


def resume_destination(subscription_id: str, destination_id: str) -> ApiCall[Document]:
    """Resume a destination that is paused or stopped, so that its waiting messages are sent; return its status."""
    path = f"{_path(subscription_id, 'status')}/{quote(destination_id, safe='')}"
    return ApiCall("PUT", path, read_document, body={"status": "active"})


def claim_events(
    subscription_id: str, *, limit: int = 1, lease_seconds: int = LEASE_S, group_by: str | None = None
) -> ApiCall[Document]:
    """Claim the oldest free events of an alert's queue: ``data``, each with ``id``, ``lease`` and ``event``.

    Nobody else gets them for so many seconds. ``hasMore`` says that another claim may find some at once. With
    ``group_by="entityType"`` all of them are about entities of one type, ``entityType``: that of the oldest event.
    """
    grouping = {} if group_by is None else {"groupBy": group_by}
    return _call(subscription_id, "claim", {"limit": limit, "leaseSeconds": lease_seconds, **grouping})


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
    return ApiCall("POST", _path(subscription_id, f"queue/{action}"), read_document, body=body)


def _path(subscription_id: str, action: str) -> str:
    return f"events/subscriptions/{quote(subscription_id, safe='')}/{action}"
