"""How did the tests and the runs go? Test case results and pipeline runs, reported and read."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from tocsin.errors import InvalidInput
from tocsin.flow.capture.ports import Key
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.request import LATEST_MS, Asked, Caller, DocumentBody, PathText, Timestamp, answer
from tocsin.server.routes.entities import found, written_answer
from tocsin.server.view import shown

_MOST_READ = 10_000
Start = Annotated[Timestamp, Query(alias="startTs")]
End = Annotated[Timestamp, Query(alias="endTs")]

router = APIRouter(tags=["reports"])


@router.post("/dataQuality/testCases/testCaseResults/{fqn}")
def add_result(fqn: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Report a run of a test case: ``timestamp`` (ms) and ``testCaseStatus`` at least."""
    return _add_result(fqn, body, caller)


@router.put("/dataQuality/testCases/{fqn}/testCaseResult")
def put_result(fqn: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Report a run of a test case; the older address of the same."""
    return _add_result(fqn, body, caller)


@router.get("/dataQuality/testCases/testCaseResults/{fqn}")
def list_results(fqn: PathText, caller: Asked, *, start: Start = 0, end: End = LATEST_MS) -> Response:
    """Return the runs of a test case between two moments, newest first."""
    return _reports("testCase", fqn, caller, start, end)


@router.put("/pipelines/{fqn}/status")
def put_status(fqn: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Report a run of a pipeline: ``timestamp`` (ms) and ``executionStatus`` at least."""
    _check_time(body)
    written = caller.parts.writes.add_pipeline_status(fqn, body, actor=caller.actor)
    return answer(shown(ENTITY_TYPES["pipeline"], written.document, caller.root))


@router.get("/pipelines/{fqn}/status")
def list_statuses(fqn: PathText, caller: Asked, *, start: Start = 0, end: End = LATEST_MS) -> Response:
    """Return the runs of a pipeline between two moments, newest first."""
    return _reports("pipeline", fqn, caller, start, end)


def _add_result(fqn: str, body: Document, caller: Caller) -> Response:
    _check_time(body)
    written = caller.parts.writes.add_test_result(fqn, body, actor=caller.actor)
    return written_answer(ENTITY_TYPES["testCase"], written, caller)


def _reports(kind: Literal["testCase", "pipeline"], fqn: str, caller: Caller, start: int, end: int) -> Response:
    entity_id = found(ENTITY_TYPES[kind], Key.by_name(fqn), caller, include="all")["id"]
    latest = caller.parts.catalogue.reports(kind, entity_id, limit=_MOST_READ)
    wanted = [report for report in latest if start <= report["timestamp"] <= end]
    return answer({"data": wanted, "paging": {"total": len(wanted)}})


def _check_time(body: Document) -> None:
    at_ms = body.get("timestamp")
    if not isinstance(at_ms, int) or isinstance(at_ms, bool) or not 0 <= at_ms <= LATEST_MS:
        raise InvalidInput("must be epoch milliseconds", field="timestamp")
