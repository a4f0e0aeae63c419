"""Routes of SQL queries on the lake: ask, read, cancel, and the record of who asked what.

The pipeline answers them, on what the asker may view. Next: ``jobs/query_runner.py``.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Annotated, NamedTuple
from uuid import uuid4

import structlog
from fastapi import Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from tocsin.access.resources import LAKE
from tocsin.errors import InvalidInput, NotFound, TooLarge, Unavailable
from tocsin.flow.eventlog.lake import UNCUT
from tocsin.flow.eventlog.lake_query import LakeQuery
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.requested_job import JobState
from tocsin.server.access.permissions import require_on
from tocsin.server.alerts.time_arguments import history_cut, moment
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, ID, OPEN, TEXT, TIME, array, either
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, QueryParameters, answer
from tocsin.store.database.cursors import place_of, place_text

LONGEST_SQL = 65_536
UNSEEN_MS = 20_000
"""A pipeline that was not seen for so long is not there."""

_NO_PIPELINE = "Waiting for a pipeline: none is running. Start one with `tocsin pipeline`."
_LOOK_EVERY_S = 0.1
_NOTE_EVERY_S = 5.0
_KEYS = ("sql", "at", "since")
_LOG = structlog.get_logger(__name__)

router = DeclaredRoutes(prefix="/lake", tags=["lake"])

Wait = Annotated[float, Query(alias="wait", ge=0, le=30, description="Seconds to wait for the answer.")]


class QueryListing(QueryParameters):
    """Which queries are listed."""

    limit: int = Field(default=50, ge=1, le=500)
    after: str | None = Field(default=None, max_length=100)


class _QueryView(NamedTuple):
    """A query, and what there is to say about its state."""

    query: LakeQuery
    message: str | None = None


_QUERY: Shape[_QueryView] = {
    "id": (ID, lambda view: view.query.id),
    "requestedBy": (ID, lambda view: view.query.requested_by),
    "requestedAt": (TIME, lambda view: view.query.requested_at_ms),
    "sql": (TEXT, lambda view: view.query.statement),
    "through?": (COUNT, lambda view: view.query.cut.through),
    "since?": (TIME, lambda view: view.query.cut.since_ms),
    "until?": (TIME, lambda view: view.query.cut.until_ms),
    "state": (either(*JobState), lambda view: view.query.state.value),
    "endedAt?": (TIME, lambda view: view.query.ended_at_ms),
    "rowCount?": (COUNT, lambda view: view.query.row_count),
    "reason?": (TEXT, lambda view: view.query.reason),
    "message?": (TEXT, lambda view: view.message),
    "columns?": (array(OPEN), lambda view: (view.query.answer or {}).get("columns")),
    "rows?": (array(OPEN), lambda view: (view.query.answer or {}).get("rows")),
}
_SCHEMA = schema_of(_QUERY)


@router.post(
    "/query", openapi_extra=answers("LakeQuery", _SCHEMA, reads="LakeQueryRequest", also=("200", "202"), never="409")
)
async def ask(body: DocumentBody, caller: Asked, request: Request, *, wait: Wait = 10.0) -> Response:
    """Query the events that you may view by SQL on the view `change_events`, now or `at` an earlier state.

    Answers 200 with the rows if they are there in time, else 202 and where to look for them. A query whose sender goes
    away, or does not ask for the answer for a minute, is cancelled.
    """
    query = await run_in_threadpool(_add, body, caller)
    query = await _await_answer(query.id, caller, wait, request)
    if query.state is JobState.FAILED:
        raise _failure_of(query)
    response = answer(_query_json(query, caller))
    if query.is_open:
        response.status_code = 202
    response.headers["Location"] = f"{caller.root}/api/v1/lake/queries/{query.id}"
    return response


@router.get("/queries", openapi_extra=answers("LakeQueryPage", _SCHEMA))
def read_page(caller: Asked, query: Annotated[QueryListing, Query()]) -> Response:
    """List queries without their rows, newest first: yours, or those of all for administrators."""
    requested_by = None if caller.actor.is_admin else caller.actor.id
    before = place_of(query.after) if query.after else None
    queries = caller.parts.lake_queries.page(requested_by, limit=query.limit + 1, before=before)
    page_queries, further = queries[: query.limit], queries[query.limit :]
    paging = {"after": place_text(page_queries[-1].requested_at_ms, page_queries[-1].id)} if further else {}
    return answer({"data": [json_of(_QUERY, _QueryView(each)) for each in page_queries], "paging": paging})


@router.get("/queries/{query_id}", openapi_extra=answers("LakeQuery", _SCHEMA))
async def read(query_id: PathId, caller: Asked, request: Request, *, wait: Wait = 0.0) -> Response:
    """Return the state of a query of yours and its rows, after at most `wait` seconds."""
    require_on(caller, Operation.QUERY_LAKE, LAKE, {})
    query = await _await_answer(str(query_id), caller, wait, request)
    return answer(_query_json(query, caller))


@router.delete("/queries/{query_id}", openapi_extra=answers("LakeQuery", _SCHEMA, never="409"))
def cancel(query_id: PathId, caller: Asked) -> Response:
    """Cancel a query of yours; one that is over stays."""
    query = _own_query(str(query_id), caller)
    caller.parts.lake_queries.cancel(query.id, now_ms=caller.parts.clock.now_ms())
    return answer(_query_json(_own_query(query.id, caller), caller))


def _add(body: Document, caller: Caller) -> LakeQuery:
    require_on(caller, Operation.QUERY_LAKE, LAKE, {})
    unknown_keys = sorted(body.keys() - set(_KEYS))
    if unknown_keys:
        raise InvalidInput("unknown key; a query has `sql`, `at` and `since`", field=unknown_keys[0])
    sql, now_ms = body.get("sql"), caller.parts.clock.now_ms()
    if not isinstance(sql, str) or not sql.strip():
        raise InvalidInput("must be a query in SQL, such as `SELECT count(*) FROM change_events`", field="sql")
    if len(sql) > LONGEST_SQL:
        raise TooLarge(f"must have at most {LONGEST_SQL:,} characters", field="sql")
    cut = UNCUT if body.get("at") is None else history_cut(body["at"], "at", now_ms)
    if body.get("since") is not None:
        cut = replace(cut, since_ms=moment(body["since"], "since", now_ms))
    query = LakeQuery(str(uuid4()), caller.actor.id, now_ms, sql, cut, asked_at_ms=now_ms)
    caller.parts.lake_queries.add(query, most_open=caller.parts.settings.lake_queries_per_person)
    _LOG.info("lake_query_asked", query_id=query.id, person_id=caller.actor.id)
    return query


async def _await_answer(query_id: str, caller: Caller, wait: float, request: Request) -> LakeQuery:
    """Return a query as soon as it is over; after ``wait`` seconds, or without its sender, in its current state."""
    give_up_s = time.monotonic() + wait
    query = await run_in_threadpool(_note_and_read, query_id, caller)
    noted_at_s = time.monotonic()
    while query.is_open and time.monotonic() < give_up_s:
        await asyncio.sleep(_LOOK_EVERY_S)
        if await request.is_disconnected():
            await run_in_threadpool(caller.parts.lake_queries.cancel, query.id, now_ms=caller.parts.clock.now_ms())
        is_due = time.monotonic() - noted_at_s > _NOTE_EVERY_S
        query = await run_in_threadpool(_note_and_read if is_due else _own_query, query_id, caller)
        noted_at_s = time.monotonic() if is_due else noted_at_s
    return query


def _note_and_read(query_id: str, caller: Caller) -> LakeQuery:
    query = _own_query(query_id, caller)
    caller.parts.lake_queries.note_asked(query.id, now_ms=caller.parts.clock.now_ms())
    return query


def _own_query(query_id: str, caller: Caller) -> LakeQuery:
    """Return a query of the caller's: only its asker may see its answer."""
    query = caller.parts.lake_queries.find(query_id)
    if query is None or query.requested_by != caller.actor.id:
        raise NotFound(f"query {query_id} not found")
    return query


def _failure_of(query: LakeQuery) -> InvalidInput | Unavailable:
    reason = query.reason or "The query ended without an answer."
    match query.code:
        case "TOO_LARGE":
            return TooLarge(reason)
        case "INVALID_INPUT":
            return InvalidInput(reason, field="sql")
    return Unavailable(reason)


def _query_json(query: LakeQuery, caller: Caller) -> Document:
    return json_of(_QUERY, _QueryView(query, _message(query, caller)))


def _message(query: LakeQuery, caller: Caller) -> str | None:
    match query.state:
        case JobState.CANCELLED:
            return "The query was cancelled."
        case JobState.DONE if query.answer is None:
            return "The rows are not kept any more; ask again."
        case JobState.DONE | JobState.FAILED:
            return None
    queries, now_ms = caller.parts.lake_queries, caller.parts.clock.now_ms()
    if now_ms - queries.pipeline_seen_at_ms() > UNSEEN_MS:
        return _NO_PIPELINE
    ahead = queries.ahead_of(query) if query.state is JobState.WAITING else 0
    return f"Earlier queries that this one waits for: {ahead}." if ahead else None
