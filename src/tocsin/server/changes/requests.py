"""Change requests: who sees one, and JSON with the names that the caller may see.

Next: ``server/routes/changes.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tocsin.errors import NotFound
from tocsin.flow.track.change_requests import coming_reminder_ms, status_at
from tocsin.model.announcement import ChangeOutcome
from tocsin.model.change_request import (
    AnnouncedChange,
    AnswerWay,
    ChangeKind,
    ConsumerVerdict,
    RequestStatus,
    RequestStep,
    RequestStepKind,
)
from tocsin.model.entity import Document
from tocsin.server.access.references import with_names
from tocsin.server.access.similar_names import named_id
from tocsin.server.changes.consumers import EXTENT_SCHEMA
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, ID, OPEN, TEXT, TIME, either, exact_object, nullable
from tocsin.server.request import Caller

VerdictCounts = Mapping[ConsumerVerdict | None, int]


class ShownRequest(NamedTuple):
    """A request, its asset and author as they may be named, how it is now, its answers, and the next reminder."""

    request: AnnouncedChange
    references: Mapping[str, Document]
    status: RequestStatus
    counts: VerdictCounts
    remind_at_ms: int | None


REQUEST: Shape[ShownRequest] = {
    "id": (ID, lambda shown: shown.request.id),
    "name": ({"type": "string", "examples": ["CR-12"]}, lambda shown: shown.request.name),
    "status": (either(*RequestStatus), lambda shown: shown.status.value),
    "kind": (either(*ChangeKind), lambda shown: shown.request.kind.value),
    "entity": (OPEN, lambda shown: shown.references[shown.request.entity_id]),
    "column": (nullable(TEXT), lambda shown: shown.request.column_path),
    "newValue": (nullable(TEXT), lambda shown: shown.request.new_value),
    "date": (TIME, lambda shown: shown.request.due_at_ms),
    "why": (TEXT, lambda shown: shown.request.why),
    "replacement": (nullable(TEXT), lambda shown: shown.request.replacement),
    "author": (OPEN, lambda shown: shown.references[shown.request.author_id]),
    "announcedAt": (TIME, lambda shown: shown.request.announced_at_ms),
    "withdrawnAt": (nullable(TIME), lambda shown: shown.request.withdrawn_at_ms),
    "doneAt": (nullable(TIME), lambda shown: shown.request.done_at_ms),
    "outcome": (nullable(either(*ChangeOutcome)), lambda shown: shown.request.outcome and shown.request.outcome.value),
    "updatedAt": (TIME, lambda shown: shown.request.updated_at_ms),
    "remindEveryDays": (COUNT, lambda shown: shown.request.remind_every_days or 0),
    "remindAt": (nullable(TIME), lambda shown: shown.remind_at_ms),
    "answers": (
        exact_object(dict.fromkeys(("total", "open", *(one.value for one in ConsumerVerdict)), COUNT)),
        lambda shown: {
            "total": sum(shown.counts.values()),
            "open": shown.counts.get(None, 0),
            **{verdict.value: shown.counts.get(verdict, 0) for verdict in ConsumerVerdict},
        },
    ),
}
"""A change request."""

REQUEST_SCHEMA = schema_of(REQUEST)
_PROPERTIES: Document = REQUEST_SCHEMA["properties"]
DETAILED_SCHEMA = exact_object({**_PROPERTIES, "consumers": EXTENT_SCHEMA})

STEP_SCHEMA = exact_object(
    {"kind": either(*RequestStepKind), "timestamp": TIME},
    {
        "user": OPEN,
        "entity": OPEN,
        "answer": either(*ConsumerVerdict),
        "until": TIME,
        "comment": TEXT,
        "way": {**either(*AnswerWay), "description": "Of an answer by the link in a mail, or a button in a chat."},
    },
)


def requests_json(requests: Sequence[AnnouncedChange], caller: Caller) -> list[Document]:
    """Return requests for an answer."""
    if not requests:
        return []
    counts = caller.parts.changes.verdicts([one.id for one in requests])
    references = with_names([one for request in requests for one in (request.subject, request.author)], caller)
    at_ms = caller.parts.clock.now_ms()
    return [_request_json(one, references, counts[one.id], at_ms) for one in requests]


def standing_requests(asset_ids: Sequence[str], caller: Caller) -> dict[str, list[Document]]:
    """Return, by asset, the requests that are neither withdrawn nor done, newest first; an empty list if none is."""
    by_asset = caller.parts.changes.list_standing(asset_ids)
    requests = [one for many in by_asset.values() for one in many]
    documents_by_id = {document["id"]: document for document in requests_json(requests, caller)}
    return {asset_id: [documents_by_id[one.id] for one in by_asset.get(asset_id, ())] for asset_id in asset_ids}


def request_json(request: AnnouncedChange, counts: VerdictCounts, caller: Caller) -> Document:
    """Return a request for an answer, with how many answered what."""
    references = with_names([request.subject, request.author], caller)
    return _request_json(request, references, counts, caller.parts.clock.now_ms())


def _request_json(
    request: AnnouncedChange, references: Mapping[str, Document], counts: VerdictCounts, at_ms: int
) -> Document:
    remind_at_ms = coming_reminder_ms(request, at_ms)
    return json_of(REQUEST, ShownRequest(request, references, status_at(request, at_ms), counts, remind_at_ms))


def timeline_json(steps: Sequence[RequestStep], caller: Caller) -> list[Document]:
    """Return what people did to a request, in order; of an answer for what the caller may not see, only its kind."""
    consumers = {
        step.consumer_id: {"id": step.consumer_id, "type": step.consumer_type} for step in steps if step.consumer_id
    }
    references = with_names([*(one.author for one in steps), *consumers.values()], caller)
    visible_ids = caller.visibility.sees(consumers.values())
    return [_step_json(one, references, is_visible=one.consumer_id in {None, *visible_ids}) for one in steps]


def _step_json(step: RequestStep, references: Mapping[str, Document], *, is_visible: bool) -> Document:
    document: Document = {"kind": step.kind.value, "timestamp": step.at_ms}
    if not is_visible:
        return document
    details = {
        "user": references[step.user_id],
        "entity": references[step.consumer_id] if step.consumer_id else None,
        "answer": step.verdict and step.verdict.value,
        "until": step.until_ms,
        "comment": step.comment,
        "way": step.way and step.way.value,
    }
    return document | {key: value for key, value in details.items() if value is not None}


def found_request(name: str, caller: Caller) -> AnnouncedChange:
    """Return a request whose asset the caller may see; to others it does not exist.

    Raises
    ------
    NotFound : there is none that the caller may see
    """
    request = caller.parts.changes.find(name)
    if request is None or requests_shown(caller, [request]) == [None]:
        raise NotFound(f"change request {name} not found")
    return request


def asset_id_of(name: str, types: Sequence[str], caller: Caller) -> str:
    """Return the id of an asset of these types by id or name, also of one that is deleted for good.

    Raises
    ------
    NotFound : there is none that the caller may see
    """
    try:
        return named_id(name, types, caller)
    except NotFound:
        subjects = caller.parts.changes.list_removed(types)
        visible_ids = caller.visibility.sees(subjects)
        documents = caller.parts.access.standing.of(visible_ids)
        fqns = {entity_id: document.get("fullyQualifiedName") for entity_id, (_, document) in documents.items()}
        entity_id = next((one["id"] for one in subjects if fqns.get(one["id"]) == name), None)
        if entity_id is None:
            raise
        return str(entity_id)


def requests_shown(caller: Caller, requests: Sequence[AnnouncedChange]) -> list[AnnouncedChange | None]:
    """Return each of these requests whose asset the caller may see; None in the place of the others."""
    visible_ids = caller.visibility.sees(one.subject for one in requests)
    return [one if one.entity_id in visible_ids else None for one in requests]
