"""Routes of versions: those in a time window, differences, and rollback.

Next: ``flow/capture/rollback.py``; the versions of one entity are read in ``server/routes/entities/crud.py``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Annotated

from fastapi import Depends, Query, Response

from tocsin.conditions.breaking import breaking_reasons
from tocsin.errors import InvalidInput
from tocsin.flow.capture import etag
from tocsin.flow.capture.announced import reasons_of_version_left
from tocsin.flow.capture.diff import diff
from tocsin.flow.capture.rollback import RolledBack
from tocsin.model.access import Operation
from tocsin.model.announcement import Announcement
from tocsin.model.change import ANNOUNCEMENTS, BREAKING_REASONS, ChangeDescription
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.secret import change_without_secrets
from tocsin.model.stored import Key
from tocsin.server.access.permissions import require, require_now, scope_of, visible_document
from tocsin.server.entities.serialize import may_edit, past
from tocsin.server.entities.version_words import announcements_between
from tocsin.server.http.body_values import value_in
from tocsin.server.http.keyed_routes import by_id_and_name
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, IfMatch, Kind, Timestamp, answer
from tocsin.store.catalogue.entities.history import VersionsAsked

From = Annotated[
    str | None, Query(alias="from", max_length=20, description="The older version; default: the one before `to`.")
]
To = Annotated[str | None, Query(max_length=20, description="The newer version; default: the newest.")]
StartTs = Annotated[Timestamp, Query(alias="startTs", description="Start of the time range, epoch milliseconds.")]
EndTs = Annotated[Timestamp, Query(alias="endTs")]
Limit = Annotated[int, Query(ge=1, le=500)]
Cursor = Annotated[str | None, Query(max_length=8000)]

_VERSION = re.compile(r"\d{1,6}(\.\d)?")
_BODY = frozenset({"version", "dryRun"})

router = DeclaredRoutes(tags=["history"])
"""Included under every collection (``server/app.py``)."""


async def window_of(
    start: StartTs, end: EndTs, *, limit: Limit = 10, after: Cursor = None, before: Cursor = None
) -> VersionsAsked:
    """Return which versions are asked for."""
    if after and before:
        raise InvalidInput("give either after or before", field="after")
    return VersionsAsked(start, end, limit, after or None, before or None)


@router.get("/history", openapi_extra=answers("{}Page"))
def list_in_window(kind: Kind, caller: Asked, window: Annotated[VersionsAsked, Depends(window_of)]) -> Response:
    """Return all versions of the collection from ``startTs`` to ``endTs`` (epoch ms), newest first."""
    page = caller.parts.entities.history.versions_written(kind.name, replace(window, visible=scope_of(caller, kind)))
    data = [past(kind, document, caller) for document in caller.visibility.visible_documents(page.documents)]
    cursors = {"after": page.after, "before": page.before}
    return answer({"data": data, "paging": {"total": page.total} | {key: at for key, at in cursors.items() if at}})


@by_id_and_name(router.post, "/{entity_id}/rollback", openapi_extra=answers("RolledBack", reads="RollbackRequest"))
def rollback(kind: Kind, key: Key, body: DocumentBody, caller: Asked, *, if_match: IfMatch = None) -> Response:
    """Restore a version as a new one: ``{"version": 0.3}``; ``"dryRun": true`` writes nothing."""
    document = visible_document(kind, key, caller, include="all")
    require(caller, Operation.EDIT_ALL, kind, document)
    unknown = sorted(body.keys() - _BODY)
    if unknown:
        raise InvalidInput(f"unknown key {unknown[0]}", field=unknown[0])
    dry_run = value_in(body, "dryRun", bool, "dryRun must be true or false", default=False)
    version = Decimal(_number("version", body.get("version")))
    rolled_back = caller.parts.writes.rollback(
        kind.name, Key.by_id(document["id"]), version, actor=caller.actor, if_match=if_match, dry_run=dry_run
    )
    headers = {} if dry_run else {"ETag": etag.strong_tag(rolled_back.written.document)}
    return answer(_account(kind, rolled_back, caller, dry_run=dry_run), headers=headers)


@by_id_and_name(router.get, "/{entity_id}/diff", openapi_extra=answers("VersionDifference"))
def compare(kind: Kind, key: Key, caller: Asked, *, from_: From = None, to: To = None) -> Response:
    """Return the differences of versions ``from`` and ``to``; default: the newest two.

    ``breaking``: going from the first to the second breaks who relies on it, for ``breakingReasons``; what was done as
    requests announced is none. ``announcements``: what requests that ended between them announced. ``renames``: the
    columns that were renamed so: the ``field`` that went, its new name ``to``. ``reasons``: why the versions between
    them were written, as their authors say.
    """
    history = caller.parts.entities.history
    require_now(caller, kind, history.identify(kind.name, key))
    new = history.newest(kind.name, key) if to is None else history.version(kind.name, key, _number("to", to))
    if from_ is None:
        old = history.newest(kind.name, key, before=str(new["version"]))
    else:
        old = history.version(kind.name, key, _number("from", from_))
    old, new = caller.visibility.visible_documents([old, new])
    change = diff(kind.name, old, new).since(Decimal(str(old["version"])))
    all_reasons = breaking_reasons(kind.name, change, new)
    announcements = announcements_between(kind.name, all_reasons, (old, new), caller)
    reasons = reasons_of_version_left(all_reasons, announcements)
    facts = {
        "breaking": bool(reasons),
        BREAKING_REASONS: [reason.as_json() for reason in reasons],
        ANNOUNCEMENTS: [one.as_json() for one in announcements],
        "renames": [_rename(one) for one in announcements if one.field and one.renamed_to],
        "reasons": _reasons_between(old, new, caller),
    }
    wire = change.to_wire()
    return answer((wire if may_edit(caller, kind, new) else change_without_secrets(wire)) | facts)


def _rename(announcement: Announcement) -> Document:
    return {"field": announcement.field, "to": announcement.renamed_to, "request": announcement.request}


def _reasons_between(old: Document, new: Document, caller: Caller) -> list[Document]:
    """Return why the versions after the earlier of two, up to the later, were written, by version, oldest first."""
    earlier, later = sorted(Decimal(str(document["version"])) for document in (old, new))
    stated = {Decimal(version): text for version, text in caller.parts.catalogue.reasons(new["id"]).items()}
    versions = sorted(version for version in stated if earlier < version <= later)
    return [{"version": float(version), "reason": stated[version]} for version in versions]


def _account(kind: EntityType, rolled_back: RolledBack, caller: Caller, *, dry_run: bool) -> Document:
    written = rolled_back.written
    change = written.event.change_description if written.event else None
    return {
        "dryRun": dry_run,
        "changeDescription": caller.visibility.visible_documents([(change or ChangeDescription()).to_wire()])[0],
        "leftOut": [{"field": one.field, "value": one.value, "reason": one.reason} for one in rolled_back.left_out],
        "entity": past(kind, written.document, caller),
    }


def _number(field: str, value: object) -> str:
    """Return a version as it is written, ``0.3``; it may be given as a number."""
    if value is None:
        raise InvalidInput("is missing: send one such as 0.1", field=field)
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    if not _VERSION.fullmatch(text):
        raise InvalidInput(f"{value!r} is not a version; versions look like 0.1", field=field)
    return text
