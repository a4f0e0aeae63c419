"""Validation of requests for announcements as OpenMetadata 2 has them, and what they mean for their threads.

Source: OpenMetadata 2.0 ``api/feed/createAnnouncement.json``. Next: ``catalogue/feed/operations.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.catalogue.feed.requests import asked_message, asked_text, checked_announcement
from tocsin.errors import InvalidInput
from tocsin.flow.capture.json_patch import PatchOperation
from tocsin.model.announced_thread import UNTITLED
from tocsin.model.entity import Document
from tocsin.model.entity_link import EntityLink, parse_link
from tocsin.model.thread import FACTS, ThreadType

LONGEST_NAME = 256
EDITABLE = ("displayName", "description", "startTime", "endTime")
_KEYS = frozenset({*EDITABLE, "name", "entityLink", "owners"})


@dataclass(frozen=True)
class AnnouncementRequest:
    """A checked request for an announcement: about what, by which name, and its thread's document."""

    link: EntityLink
    name: str | None
    document: Document


def parse_announcement(request: Document) -> AnnouncementRequest:
    """Return what a request for an announcement says; nulls are left out.

    Raises
    ------
    InvalidInput : a key is unknown, a value has the wrong form, or it is about nothing
    """
    values = {key: value for key, value in request.items() if value is not None}
    unknown = sorted(values.keys() - _KEYS)
    if unknown:
        raise InvalidInput(f"unknown key; valid keys: {', '.join(sorted(_KEYS))}", field=unknown[0])
    if values.get("owners"):
        raise InvalidInput("an announcement belongs to who makes it; leave them out", field="owners")
    if "entityLink" not in values:
        raise InvalidInput(
            "is missing: an announcement is about an asset, <#E::table::shop.public.orders>", field="entityLink"
        )
    name = _name(values, "name")
    title, details = _name(values, "displayName") or name or UNTITLED, _details(values)
    document: Document = {"type": ThreadType.ANNOUNCEMENT.value, "message": title, "resolved": False, "reactions": []}
    document |= {"announcement": details, FACTS: {"name": name} if name else {}}
    return AnnouncementRequest(parse_link(values["entityLink"], "entityLink"), name, document)


def operations_of(before: Document, after: Document) -> list[PatchOperation]:
    """Return the JSON Patch of the thread for a change from one announcement of 2.x to another.

    Raises
    ------
    InvalidInput : a key that may not change has changed, or a value has the wrong form
    """
    for key in sorted(before.keys() | after.keys()):
        if key not in EDITABLE and before.get(key) != after.get(key):
            raise InvalidInput(f"cannot be changed; a patch may change: {', '.join(EDITABLE)}", field=key)
    operations: list[PatchOperation] = []
    if after.get("displayName") != before.get("displayName"):
        title = _name(after, "displayName")
        operations.append({"op": "replace", "path": "/message", "value": title or after["name"]})
    if any(after.get(key) != before.get(key) for key in EDITABLE[1:]):
        operations.append({"op": "replace", "path": "/announcement", "value": _details(after)})
    return operations


def _details(document: Document) -> Document:
    keys = ("description", "startTime", "endTime")
    asked_message(document, "description")
    return checked_announcement({key: document.get(key) for key in keys})


def _name(document: Document, key: str) -> str | None:
    name = asked_text({key: document[key]}, key, (key,)) if document.get(key) is not None else None
    if name is not None and not 0 < len(name.strip()) <= LONGEST_NAME:
        raise InvalidInput(f"must be a string of 1 to {LONGEST_NAME} characters", field=key)
    return name
