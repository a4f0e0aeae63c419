"""Request builders for events of other systems, and for registered consumers of the log.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote

from tocsin.client.call import ApiCall, query_of, read_document, without_none
from tocsin.model.entity import Document

_CONSUMERS = "events/consumers"


def events_ingest(events: Sequence[Document], *, source: str | None = None, dry_run: bool = False) -> ApiCall[Document]:
    """Apply up to 1,000 events of another system as a bot: CloudEvents, or change events that come from ``source``.

    Return ``data``, with the ``state`` of each and, where it is ``refused``, ``reason`` and ``message``; and
    ``counts`` by state. Sending an event again changes nothing. With ``dry_run`` nothing is kept.
    """
    query = {"dryRun": "true"} if dry_run else {}
    query |= {"source": source} if source is not None else {}
    return ApiCall("POST", "events/ingest", read_document, query, list(events))


def event_origin(event_id: str) -> ApiCall[Document]:
    """Return where an event came from that a bot has ingested: ``source``, ``id`` there, and ``claimedAuthor``."""
    return ApiCall("GET", f"events/{quote(event_id, safe='')}/origin", read_document)


def event_audience(event_id: str, *, limit: int | None = None, after: str | None = None) -> ApiCall[Document]:
    """Return who was told of an event (``data``: ``name``, ``displayName``, ``channels``, ``readAt``), if you may know.

    ``isComplete`` says whether these are all; ``unowned`` are assets downstream that nobody owns.
    """
    query = query_of({"limit": limit, "after": after})
    return ApiCall("GET", f"events/{quote(event_id, safe='')}/audience", read_document, query)


def consumers() -> ApiCall[Document]:
    """Return the registered consumers (``data``): for administrators all, for others their own."""
    return ApiCall("GET", _CONSUMERS, read_document)


def consumer(name: str) -> ApiCall[Document]:
    """Return a registered consumer; its ``offset`` is behind the last event that it has handled."""
    return ApiCall("GET", _consumer_path(name), read_document)


def register_consumer(
    name: str, *, user: str | None = None, start: int | Literal["now", "start"] | None = None
) -> ApiCall[Document]:
    """Register a consumer whose position ``user`` commits, or change it; for administrators."""
    body = without_none({"user": user, "start": start})
    return ApiCall("PUT", _consumer_path(name), read_document, body=body)


def commit_position(name: str, offset: int, *, previous: int) -> ApiCall[Document]:
    """Commit the position of a consumer, which is at ``previous``; 409 if it is not."""
    body = {"offset": offset, "previousOffset": previous}
    return ApiCall("PUT", f"{_consumer_path(name)}/position", read_document, body=body)


def remove_consumer(name: str) -> ApiCall[Document]:
    """Remove a consumer, so that retention no longer waits for it; for administrators."""
    return ApiCall("DELETE", _consumer_path(name), read_document)


def _consumer_path(name: str) -> str:
    return f"{_CONSUMERS}/{quote(name, safe='')}"
