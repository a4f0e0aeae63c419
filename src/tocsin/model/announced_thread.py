"""Announcements as OpenMetadata 2 has them: threads with a start and an end, which are scheduled, active or expired.

*Source:* OpenMetadata 2.0, ``entity/feed/announcement.json``. Next: ``store/catalogue/feed/announcements.py``.
"""

from __future__ import annotations

from enum import StrEnum

from tocsin.model.entity import Document
from tocsin.model.entity_link import EntityLink
from tocsin.model.thread import FACTS, StoredThread, ThreadType

IS_ANNOUNCED = "isAnnounced"
"""Key of the facts of a thread: false of an announcement that nobody has been told of."""

IS_OVER = "isOver"
"""Key of the facts of a thread: true of such an announcement if its end had passed when it was written."""


UNTITLED = "Announcement"
"""The message of an announcement that was made with neither a name nor a display name."""


class AnnouncementStatus(StrEnum):
    """Where an announcement is in its period."""

    ACTIVE = "Active"
    SCHEDULED = "Scheduled"
    EXPIRED = "Expired"


def status_at(start_ms: int, end_ms: int, now_ms: int) -> AnnouncementStatus:
    """Return the status at a time of an announcement from one time to another, both included."""
    if now_ms < start_ms:
        return AnnouncementStatus.SCHEDULED
    return AnnouncementStatus.ACTIVE if now_ms <= end_ms else AnnouncementStatus.EXPIRED


def facts_until_told(period: Document, now_ms: int) -> Document:
    """Return the facts of an announcement that nobody is told of now: its start is to come, or its end has passed."""
    match status_at(period["startTime"], period["endTime"], now_ms):
        case AnnouncementStatus.SCHEDULED:
            return {IS_ANNOUNCED: False}
        case AnnouncementStatus.EXPIRED:
            return {IS_ANNOUNCED: False, IS_OVER: True}
        case AnnouncementStatus.ACTIVE:
            return {}


def facts_when_moved(facts: Document, period: Document, now_ms: int) -> Document:
    """Return the facts of an announcement that gets another period: one that was told stays told."""
    if facts.get(IS_ANNOUNCED) is not False:
        return facts
    kept_facts = {key: value for key, value in facts.items() if key != IS_OVER}
    return {**kept_facts, **facts_until_told(period, now_ms), IS_ANNOUNCED: False}


def is_unannounced(thread: StoredThread) -> bool:
    """Return whether a thread is an announcement that nobody has been told of."""
    facts = thread.document.get(FACTS) or {}
    return thread.kind == ThreadType.ANNOUNCEMENT and facts.get(IS_ANNOUNCED) is False


def is_to_begin(thread: StoredThread) -> bool:
    """Return whether a thread is an announcement that people are told of when it begins."""
    return is_unannounced(thread) and not thread.document[FACTS].get(IS_OVER)


def announcement_document(thread: StoredThread, asset: Document, domains: list[Document], now_ms: int) -> Document:
    """Return the announcement of 2.x that a thread is; ``asset`` is the reference to what it is about."""
    document, period = thread.document, thread.document["announcement"]
    name = (document.get(FACTS) or {}).get("name") or thread.id
    return {
        "id": thread.id,
        "name": name,
        "fullyQualifiedName": name,
        "displayName": document["message"],
        "description": period.get("description") or document["message"],
        "entityLink": str(EntityLink(thread.about_type, asset["fullyQualifiedName"], thread.steps)),
        "startTime": period["startTime"],
        "endTime": period["endTime"],
        "status": status_at(period["startTime"], period["endTime"], now_ms).value,
        "createdBy": document["createdBy"],
        "updatedBy": document["updatedBy"],
        "owners": [],
        "domains": domains,
        "reactions": document.get("reactions") or [],
        "createdAt": document["threadTs"],
        "updatedAt": document["updatedAt"],
        "deleted": False,
    }
