"""Request builders for events of other systems. ``Client`` and ``AsyncClient`` offer them like ``client/calls.py``."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from tocsin.client.call import ApiCall
from tocsin.model.entity import Document


def events_ingest(events: Sequence[Document], *, source: str | None = None, dry_run: bool = False) -> ApiCall[Document]:
    """Apply up to 1,000 events of another system as a bot: CloudEvents, or change events that come from ``source``.

    Return ``data``, with the ``state`` of each and, where it is ``refused``, ``reason`` and ``message``; and
    ``counts`` by state. Sending an event again changes nothing. With ``dry_run`` nothing is kept.
    """
    query = {"dryRun": "true"} if dry_run else {}
    query |= {"source": source} if source is not None else {}
    return ApiCall("POST", "events/ingest", lambda answer: answer, query, list(events))


def event_origin(event_id: str) -> ApiCall[Document]:
    """Return where an event came from that a bot has ingested: ``source``, ``id`` there, and ``claimedAuthor``."""
    return ApiCall("GET", f"events/{quote(event_id, safe='')}/origin", lambda answer: answer)
