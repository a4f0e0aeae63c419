"""Life cycle of an asset: who created, changed and read it last, as connectors report it.

Reports arrive in any order, so of each the newest counts. Source: OpenMetadata's ``EntityUpdater.updateLifeCycle``.
"""

from __future__ import annotations

from tocsin.model.entity import Document

KEY = "lifeCycle"


def with_newest(document: Document, old: Document) -> Document:
    """Return the document with the newest of each entry of its life cycle; one without a life cycle stays so."""
    before, after = old.get(KEY), document.get(KEY)
    if not isinstance(before, dict) or not isinstance(after, dict):
        return document
    newer_entries = {key: entry for key, entry in before.items() if _time_of(entry) > _time_of(after.get(key))}
    return document | {KEY: before | after | newer_entries}


def _time_of(entry: object) -> float:
    timestamp = entry.get("timestamp") if isinstance(entry, dict) else None
    return timestamp if isinstance(timestamp, int | float) else float("-inf")
