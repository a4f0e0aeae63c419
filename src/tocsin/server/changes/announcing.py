"""What a request announces, with all mistakes of it at once, and the request that announces the same already.

Next: ``catalogue/changes.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, TypeVar

from tocsin.catalogue.changes import check_new_value, column_path_of, differing_fields
from tocsin.errors import InvalidInput, NotFound, TocsinError
from tocsin.flow.track.change_requests import check_date
from tocsin.model.access import Operation
from tocsin.model.change_request import AnnouncedChange, ChangeAnnouncement, ChangeMove
from tocsin.model.columns import relative_fqns_by_spelling
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key, not_found
from tocsin.server.access.permissions import require, visible_document
from tocsin.server.access.similar_names import similar_name
from tocsin.server.changes.requests import requests_shown
from tocsin.server.http.body_values import value_in
from tocsin.server.http.errors import explain, parse_as
from tocsin.server.request import Caller

T = TypeVar("T")


class RequestedChange(NamedTuple):
    """An announcement, and the type and document of the asset that it is about, which the caller may edit."""

    announcement: ChangeAnnouncement
    entity_type: str
    asset: Document

    @property
    def column_path(self) -> str | None:
        """The path of the column; of one that is gone as it is spelled."""
        column = self.announcement.column
        paths = relative_fqns_by_spelling(self.entity_type, self.asset["fullyQualifiedName"], self.asset)
        return None if column is None else paths.get(column, column)


def requested_change(body: Document, caller: Caller) -> RequestedChange:
    """Return what a body announces; the asset may be deleted, also for good. Mistakes are refused together.

    Raises
    ------
    InvalidInput, NotFound : it announces nothing, or its asset is not there, and no request is about it
    Forbidden : the caller may not edit the asset
    """
    errors: list[TocsinError] = []
    announcement = _attempt(lambda: parse_as(ChangeAnnouncement, body), errors)
    subject = _attempt(lambda: _editable_asset(body, caller), errors)
    if announcement is not None and subject is not None:
        return RequestedChange(announcement, *subject)
    if subject is not None and isinstance(column := body.get("column"), str):
        _attempt(lambda: column_path_of(column, *subject), errors)
    with suppress(InvalidInput):  # a date that is none is among the errors already
        due_at_ms = parse_as(ChangeMove, {"date": body.get("date")}).date
        _attempt(lambda: check_date(due_at_ms, caller.parts.clock.now_ms()), errors)
    raise _as_one(errors, caller)


def check_change(change: RequestedChange, caller: Caller) -> None:
    """Refuse what cannot be announced: mistakes that only the store and the clock know, all at once.

    Raises
    ------
    NotFound : the asset is deleted
    InvalidInput : it has no such column, the date is not ahead, or the new type or name is no change
    """
    announcement, entity_type, asset = change
    if asset.get("deleted"):
        raise not_found(entity_type, Key(id=None, fqn=asset["fullyQualifiedName"]))
    errors: list[TocsinError] = []
    column_path = _attempt(lambda: column_path_of(announcement.column, entity_type, asset), errors)
    if not errors:
        _attempt(lambda: check_new_value(announcement, column_path, entity_type, asset), errors)
    _attempt(lambda: check_date(announcement.date, caller.parts.clock.now_ms()), errors)
    if errors:
        raise _as_one(errors, caller)


def same_request(change: RequestedChange, caller: Caller) -> AnnouncedChange | None:
    """Return the request that announces the very same, not withdrawn, also one that is due or done; None: none does."""
    requests = caller.parts.changes.list_announced(change.asset["id"], change.announcement.date)
    same = (one for one in requests if one.column_path == change.column_path)
    return next((one for one in same if not differing_fields(change.announcement, one)), None)


def _attempt(work: Callable[[], T], errors: list[TocsinError]) -> T | None:
    """Return what some work returns; None if it refuses something, which is added to the errors."""
    try:
        return work()
    except (InvalidInput, NotFound) as error:
        errors.append(error)
        return None


def _as_one(errors: list[TocsinError], caller: Caller) -> TocsinError:
    """Return the error of several, whose message begins each with its field."""
    if len(errors) == 1 and isinstance(errors[0], NotFound):
        return errors[0]
    return InvalidInput("; ".join(_with_field(one, caller) for one in errors))


def _with_field(error: TocsinError, caller: Caller) -> str:
    if isinstance(error, NotFound):
        return f"entity: {error.message}{similar_name(error.entity_type, error.fqn or '', caller)}"
    text, field = explain(error), error.field if isinstance(error, InvalidInput) else None
    return f"{field}: {text}" if field and not text.startswith(f"{field}: ") else text


def _editable_asset(body: Document, caller: Caller) -> tuple[str, Document]:
    """Return type and document of the asset that a request names; refused to who may not edit it."""
    reference = value_in(body, "entity", dict, "must be a reference: type, and id or fullyQualifiedName")
    kind = ENTITY_TYPES.get(str(reference.get("type")))
    if kind is None or not kind.is_asset:
        raise InvalidInput("must be a type of asset", field="entity.type")
    entity_id, fqn = reference.get("id"), reference.get("fullyQualifiedName")
    if not isinstance(entity_id or fqn, str):
        raise InvalidInput("must have an id or a fullyQualifiedName", field="entity")
    key = Key(id=entity_id, fqn=None if entity_id else fqn)
    try:
        document = visible_document(kind, key, caller, include="all")
    except NotFound:
        removed_document = _removed_asset(kind.name, key, body.get("date"), caller)
        if removed_document is None:
            raise
        document = removed_document
    require(caller, Operation.EDIT_ALL, kind, document)
    return kind.name, document


def _removed_asset(entity_type: str, key: Key, date: object, caller: Caller) -> Document | None:
    """Return the last state of an asset that is deleted for good, if a request about it is for that date.

    None: there is no such request, or the caller may not see it.
    """
    try:
        due_at_ms = parse_as(ChangeMove, {"date": date}).date
    except InvalidInput:
        return None
    requests = caller.parts.changes.list_announced_of_removed(entity_type, due_at_ms)
    asset_ids = {one.entity_id for one in requests_shown(caller, requests) if one is not None}
    documents = (document for _, document in caller.parts.access.standing.of(asset_ids).values())
    name, value = ("fullyQualifiedName", key.fqn) if key.id is None else ("id", key.id)
    document = next((one for one in documents if one.get(name) == value), None)
    return None if document is None else {**document, "deleted": True}
