"""Routes of change requests: announce, read, answer, discuss, move, withdraw.

Next: ``catalogue/changes.py``.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import Field

from tocsin.catalogue.changes import (
    announce,
    answer_request,
    comment_on_request,
    move_request,
    remind_consumer,
    withdraw_request,
)
from tocsin.errors import InvalidInput
from tocsin.model.change_request import (
    AnnouncedChange,
    ChangeAnswer,
    ChangeComment,
    ChangeMove,
    ChangeReminder,
    ChangeWithdrawal,
    ConsumerAnswer,
    RequestStatus,
    number_in,
)
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import hint
from tocsin.model.stored import Key
from tocsin.server.access.pages import visible_page
from tocsin.server.access.similar_names import id_to_filter_by
from tocsin.server.alerts.hourly_counts import counted_answer, counted_post
from tocsin.server.alerts.request_notices import notices_by_consumer
from tocsin.server.changes.announcing import check_change, requested_change, same_request
from tocsin.server.changes.consumers import (
    CONSUMER_SCHEMA,
    consumers_json,
    extent_of,
    find_consumers,
    ids_to_answer,
    require_reminder,
    visible_consumers,
)
from tocsin.server.changes.requests import (
    DETAILED_SCHEMA,
    REQUEST_SCHEMA,
    STEP_SCHEMA,
    asset_id_of,
    found_request,
    request_json,
    requests_json,
    requests_shown,
    timeline_json,
)
from tocsin.server.http.errors import parse_as
from tocsin.server.http.json_schema import array, exact_object
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, OptionalBody, PathText, QueryParameters, answer
from tocsin.store.catalogue.changes.requests import RequestFilter
from tocsin.store.database.cursors import cursor_of, not_a_cursor, place_of, place_text, text_of
from tocsin.store.database.page_bytes import BoundedList

_FIRST_CONSUMERS = 100
"""Consumers that the answer to a dry run shows."""

_Name = Annotated[str | None, Field(max_length=10_000)]
_ANNOUNCED = exact_object(DETAILED_SCHEMA["properties"], {"firstConsumers": array(CONSUMER_SCHEMA)})
_ASSET_TYPES = tuple(dict.fromkeys(("table", *(name for name, row in ENTITY_TYPES.items() if row.is_asset))))
DryRun = Annotated[bool, Query(alias="dryRun", description="Only check it, and say who would be asked.")]

router = DeclaredRoutes(prefix="/changes", tags=["change requests"])


class PageQuery(QueryParameters):
    """Position and length of a page."""

    limit: int = Field(default=50, ge=1, le=500)
    after: str | None = Field(default=None, max_length=100)


class ChangeRequestQuery(PageQuery):
    """Filters of the list: ``asset`` and ``author`` are ids or names; a deleted asset keeps its requests."""

    status: Literal["announced", "due", "done", "withdrawn"] | None = None
    asset: _Name = Field(default=None, description="Id or fully qualified name of an asset.")
    type: str | None = Field(default=None, max_length=40, description="Type of that asset; any if left out.")
    author: _Name = Field(default=None, description="Id or name of a user.")

    def filter(self, caller: Caller) -> RequestFilter:
        """Return the filter for the store."""
        types = _types_of(self.type)
        return RequestFilter(
            at_ms=caller.parts.clock.now_ms(),
            status=RequestStatus(self.status) if self.status else None,
            entity_id=self.asset and asset_id_of(self.asset, types, caller),
            author_id=self.author and id_to_filter_by(self.author, ("user",), caller),
        )


@router.post("", openapi_extra=answers("ChangeAnnounced", _ANNOUNCED, reads="ChangeAnnouncement", also=("200", "201")))
def announce_change(body: DocumentBody, caller: Asked, *, dry_run: DryRun = False) -> Response:
    """Announce a removal, new type, rename or deprecation of an asset or column; ``dryRun``: who would be asked.

    The same announcement again announces nothing: it returns the request (200) until that is withdrawn.
    """
    change = requested_change(body, caller)
    announcement, entity_type, asset = change
    if (present := same_request(change, caller)) is not None:
        return _request_answer(present, caller)
    check_change(change, caller)
    consumers = find_consumers(asset, entity_type, change.column_path, caller)
    work = partial(announce, announcement=announcement, asset_key=(entity_type, str(asset["id"])), consumers=consumers)
    if dry_run:
        request = caller.parts.writes.rehearsal().within(work, actor=caller.actor)
    else:
        with counted_post([announcement.why], caller):
            request = caller.parts.writes.within(work, actor=caller.actor)
    open_answers = [ConsumerAnswer(one, None) for one in consumers]
    document = request_json(request, {None: len(consumers)}, caller) | {"consumers": extent_of(open_answers, caller)}
    if not dry_run:
        return answer(document, 201)
    first = [one for one in visible_consumers(open_answers, caller) if one is not None][:_FIRST_CONSUMERS]
    return answer(document | {"firstConsumers": consumers_json(first, request, {}, caller)})


@router.get("", openapi_extra=answers("ChangeRequestPage", REQUEST_SCHEMA, refuses="404"))
def list_requests(caller: Asked, query: Annotated[ChangeRequestQuery, Query()]) -> Response:
    """Return change requests, newest first, with how many consumers answered what."""
    criteria, start = query.filter(caller), _number(query.after)

    def read(last: AnnouncedChange | None, count: int) -> BoundedList[AnnouncedChange]:
        return caller.parts.changes.page(criteria, limit=count, before=last.number if last else start)

    requests = visible_page(read, partial(requests_shown, caller), query.limit)
    paging = {"after": cursor_of(requests.last.name)} if requests.last and requests.has_more else {}
    return answer({"data": requests_json(requests.entries, caller), "paging": paging})


@router.get("/{request}", openapi_extra=answers("ChangeRequestDetails", DETAILED_SCHEMA))
def read_request(request: PathText, caller: Asked) -> Response:
    """Return a change request, by its number (`CR-12`) or id, with counts of answers and of consumers."""
    return _request_answer(found_request(request, caller), caller)


@router.get("/{request}/consumers", openapi_extra=answers("ChangeConsumerPage", CONSUMER_SCHEMA))
def list_consumers(request: PathText, caller: Asked, query: Annotated[PageQuery, Query()]) -> Response:
    """Return the consumers of a change, nearest first: the way to each, who answers, who was told, and the answer."""
    stored, start = found_request(request, caller), place_of(query.after) if query.after else None

    def read(last: ConsumerAnswer | None, count: int) -> BoundedList[ConsumerAnswer]:
        after = (last.consumer.level, last.consumer.id) if last else start
        return caller.parts.changes.consumers(stored.id, limit=count, after=after)

    entries = visible_page(read, partial(visible_consumers, caller=caller), query.limit)
    last = entries.last.consumer if entries.last and entries.has_more else None
    paging = {"after": place_text(last.level, last.id)} if last else {}
    notices = notices_by_consumer(stored, {one.consumer.id for one in entries.entries}, caller)
    return answer({"data": consumers_json(entries.entries, stored, notices, caller), "paging": paging})


@router.get("/{request}/timeline", openapi_extra=answers("ChangeTimelinePage", STEP_SCHEMA))
def read_timeline(request: PathText, caller: Asked, query: Annotated[PageQuery, Query()]) -> Response:
    """Return answers, comments and changes of a request, in order; of hidden ones only the kind."""
    after = place_of(query.after) if query.after else None
    steps = caller.parts.changes.steps(found_request(request, caller).id, limit=query.limit, after=after)
    has_more = len(steps) == query.limit
    paging = {"after": place_text(steps[-1].at_ms, steps[-1].id)} if has_more else {}
    return answer({"data": timeline_json(steps, caller), "paging": paging})


@router.put("/{request}/answer", openapi_extra=answers("ChangeRequestDetails", DETAILED_SCHEMA, reads="ChangeAnswer"))
def answer_change(request: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Answer for consumers that one owns, directly or by a team (``consumers``: all of them if left out)."""
    stored = found_request(request, caller)
    requested = parse_as(ChangeAnswer, body)
    asked_ids = None if requested.consumers is None else [str(one) for one in requested.consumers]
    consumers = caller.parts.changes.consumers(stored.id)
    consumer_ids = ids_to_answer(stored, consumers, asked_ids, caller)
    work = partial(answer_request, request_id=stored.id, answer=requested, consumer_ids=consumer_ids)
    answered = [one for one in consumers if one.consumer.id in consumer_ids]
    with counted_answer(requested, answered, caller):
        caller.parts.writes.within(work, actor=caller.actor)
    return _request_answer(stored, caller)


@router.post(
    "/{request}/comments", openapi_extra=answers("ChangeRequestDetails", DETAILED_SCHEMA, reads="ChangeComment")
)
def comment_on_change(request: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Add to the discussion of a change request."""
    stored = found_request(request, caller)
    comment = parse_as(ChangeComment, body).comment
    work = partial(comment_on_request, request_id=stored.id, comment=comment)
    with counted_post([comment], caller):
        caller.parts.writes.within(work, actor=caller.actor)
    return _request_answer(stored, caller)


@router.post(
    "/{request}/reminders", openapi_extra=answers("ChangeRequestDetails", DETAILED_SCHEMA, reads="ChangeReminder")
)
def remind_of_change(request: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Remind those who answer for one open consumer (``consumer``); for who announced the change, once a day."""
    stored = found_request(request, caller)
    consumer_id = str(parse_as(ChangeReminder, body).consumer)
    require_reminder(stored, caller.parts.changes.consumers(stored.id), consumer_id, caller)
    work = partial(remind_consumer, request_id=stored.id, consumer_id=consumer_id)
    with counted_post([], caller):
        caller.parts.writes.within(work, actor=caller.actor)
    return _request_answer(stored, caller)


@router.put("/{request}/move", openapi_extra=answers("ChangeRequestDetails", DETAILED_SCHEMA, reads="ChangeMove"))
def move_change(request: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Move a change to a later ``date``; answers stay, and new consumers are asked."""
    stored = found_request(request, caller)
    moved = parse_as(ChangeMove, body)
    asset = caller.parts.catalogue.get(stored.entity_type, Key.by_id(stored.entity_id), "all")
    consumers = find_consumers(asset, stored.entity_type, stored.column_path, caller)
    work = partial(move_request, request_id=stored.id, due_at_ms=moved.date, comment=moved.comment, consumers=consumers)
    with counted_post([moved.comment], caller):
        caller.parts.writes.within(work, actor=caller.actor)
    return _request_answer(stored, caller)


@router.put(
    "/{request}/withdraw", openapi_extra=answers("ChangeRequestDetails", DETAILED_SCHEMA, reads="ChangeWithdrawal")
)
def withdraw_change(request: PathText, body: OptionalBody, caller: Asked) -> Response:
    """Withdraw a change request (``comment``)."""
    stored = found_request(request, caller)
    comment = parse_as(ChangeWithdrawal, body).comment
    work = partial(withdraw_request, request_id=stored.id, comment=comment)
    with counted_post([comment], caller):
        caller.parts.writes.within(work, actor=caller.actor)
    return _request_answer(stored, caller)


def _request_answer(request: AnnouncedChange, caller: Caller) -> Response:
    """Return the answer that shows a request as it is now."""
    present, entries = found_request(request.id, caller), caller.parts.changes.consumers(request.id)
    counts = Counter(None if one.answer is None else one.answer.verdict for one in entries)
    return answer(request_json(present, counts, caller) | {"consumers": extent_of(entries, caller)})


def _types_of(entity_type: str | None) -> tuple[str, ...]:
    """Return the types that an asset may have.

    Raises
    ------
    InvalidInput : there is no such type
    """
    if entity_type is None:
        return _ASSET_TYPES
    if entity_type not in ENTITY_TYPES:
        raise InvalidInput(f"unknown entity type {entity_type!r}{hint(entity_type, ENTITY_TYPES)}", field="type")
    return (entity_type,)


def _number(cursor: str | None) -> int | None:
    if not cursor:
        return None
    number = number_in(text_of(cursor))
    if number is None:
        raise not_a_cursor(cursor)
    return number
