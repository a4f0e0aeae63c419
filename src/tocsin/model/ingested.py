"""Events of other systems that were applied: what is kept of each, so that it is applied once.

Next: ``catalogue/ingest/writes.py``, ``store/eventlog/ingested.py``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class IngestedEvent:
    """One event of another system that was applied.

    Attributes
    ----------
    key, entity_key : digests of what it is, and of whom it is about, for the bot that sent it (``event_key``)
    source, source_event_id : its own name for where it comes from, and its id there
    author : who made the change there, as that system says; a text, no person of ours
    event_id : our event that it led to; None if it changed nothing
    newest_ms : the latest time that an event of this source about this entity had, this one included
    """

    key: str
    entity_key: str
    bot_id: str
    source: str
    source_event_id: str
    author: str | None = None
    event_id: str | None = None
    newest_ms: int | None = None
    received_at_ms: int = 0


def event_key(*names: str) -> str:
    """Return a digest of these names, in which each has its own place."""
    digest = hashlib.sha256()
    for name in names:
        encoded = name.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()
