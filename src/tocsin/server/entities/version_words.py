"""Words of stored versions: their changes as messages say them, why they break readers, and why they were written.

How a change was announced stands in its event; if that is removed, the requests that ended with it say so.
Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal

from tocsin.conditions.breaking import reasons_of_version
from tocsin.delivery.wording.changes import version_lines
from tocsin.flow.capture.announced import (
    WrittenChange,
    announcements_of_difference,
    announcements_of_version,
    may_be_announced,
    reasons_of_version_left,
)
from tocsin.model.announcement import Announcement
from tocsin.model.breaking import BreakingReason
from tocsin.model.change import ChangeDescription
from tocsin.model.entity import Document
from tocsin.server.access.references import shown_name_of, with_names
from tocsin.server.http.json_schema import FLAG, NUMBER, TEXT, array, exact_object, ref
from tocsin.server.request import Caller

_Announcements = Sequence[Announcement] | None

VERSION_DIFFERENCE = exact_object(
    {
        **{key: array(ref("FieldChange")) for key in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")},
        "previousVersion": NUMBER,
        "breaking": FLAG,
        "breakingReasons": array(ref("BreakingReason")),
        "announcements": array(ref("Announcement")),
        "renames": array(exact_object(dict.fromkeys(("field", "to", "request"), TEXT))),
        "reasons": array(exact_object({"version": NUMBER, "reason": TEXT})),
    }
)
"""The difference of two versions."""


def version_words(entity_type: str, versions: Sequence[Document], caller: Caller) -> Document:
    """Return ``words``, ``breaking``, ``reasons`` and ``authors`` of the versions of an entity: a value for each.

    Authors are called by the display names that the caller may see, others by the names that are stored.
    """
    if not versions:
        return {"words": [], "breaking": [], "reasons": [], "authors": []}
    breaking = [reasons_of_version(entity_type, version) for version in versions]
    announcements = _announcements_of(entity_type, versions, breaking, caller)
    reasons_left = [
        reasons_of_version_left(reasons, of_version or ())
        for reasons, of_version in zip(breaking, announcements, strict=True)
    ]
    reasons_by_version = caller.parts.catalogue.reasons(versions[0]["id"])
    return {
        "words": [
            version_lines(entity_type, *judged_version, caller.zone)
            for judged_version in zip(versions, reasons_left, announcements, strict=True)
        ],
        "breaking": [[reason.as_json() for reason in reasons] for reasons in reasons_left],
        "reasons": [reasons_by_version.get(str(version["version"]), "") for version in versions],
        "authors": _authors_of(versions, caller),
    }


def announcements_between(
    entity_type: str,
    reasons: tuple[BreakingReason, ...],
    versions: tuple[Document, Document],
    caller: Caller,
) -> tuple[Announcement, ...]:
    """Return what requests that ended between two versions announced of the differences of the two.

    ``reasons``: why going from the first version to the second breaks readers. Back to an older version nothing was
    announced.
    """
    old, new = versions
    done_requests = [
        request
        for request in caller.parts.changes.list_carried_out(new["id"])
        if request.done_at_ms is not None and old["updatedAt"] < request.done_at_ms <= new["updatedAt"]
    ]
    return announcements_of_difference(WrittenChange(entity_type, old, new, reasons), done_requests)


def _authors_of(versions: Sequence[Document], caller: Caller) -> list[str]:
    names = [str(version.get("updatedBy") or "") for version in versions]
    people = caller.parts.people.by_names({name for name in names if name})
    references = with_names([{"id": one.id, "type": "user", "name": one.name} for one in people.values()], caller)
    return [shown_name_of(references[people[name].id]) if name in people else name for name in names]


def _announcements_of(
    entity_type: str, versions: Sequence[Document], breaking: Sequence[tuple[BreakingReason, ...]], caller: Caller
) -> list[_Announcements]:
    """Return what was announced of each version; None where nobody knows."""
    if not any(breaking) and not any(map(_may_be_announced, versions)):
        return [None for _ in versions]
    entity_id = versions[0]["id"]
    announced_events = caller.parts.log.list_announced(entity_id)
    by_version: dict[Decimal | None, list[tuple[Announcement, ...]]] = defaultdict(list)
    for event in announced_events:
        if event.announcements is not None:
            by_version[event.current_version].append(event.announcements)
    requests = caller.parts.changes.list_carried_out(entity_id)
    numbers = [Decimal(str(version["version"])) for version in versions]
    ends = [int(version.get("updatedAt") or 0) for version in versions]
    starts = [*ends[1:], -1]  # a version can hold several changes of one person
    done_requests = [
        [one for one in requests if start < (one.done_at_ms or 0) <= end]
        for start, end in zip(starts, ends, strict=True)
    ]
    return [
        by_version[number][0]
        if len(by_version[number]) == 1
        else announcements_of_version(entity_type, reasons, of_version) or None
        for number, reasons, of_version in zip(numbers, breaking, done_requests, strict=True)
    ]


def _may_be_announced(version: Document) -> bool:
    change = ChangeDescription.model_validate(version.get("changeDescription") or {})
    return version.get("deleted") is True or may_be_announced(change)
