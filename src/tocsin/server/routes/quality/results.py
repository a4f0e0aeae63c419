"""Routes of test case results: report, correct and read, newest first."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from fastapi import Query, Response

from tocsin.access.sample_masks import MASK, masked_columns
from tocsin.catalogue.observations.profiles import place_of
from tocsin.catalogue.observations.reports import REPORTS
from tocsin.catalogue.observations.samples import SAMPLE
from tocsin.catalogue.quality.results import patch_result, remove_result
from tocsin.errors import NotFound
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import permitted_document
from tocsin.server.access.samples import masked_tags_for
from tocsin.server.entities.reports import Moment, WindowAsked, dated_ahead, page_answer, write_permitted
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, JsonBody, PathText, answer
from tocsin.server.routes.entities.crud import written_answer
from tocsin.store.database.cursors import DocumentPage, ReportWindow

_KIND = REPORTS["testCase"].name
Status = Annotated[
    Literal["Success", "Failed", "Aborted", "Queued"] | None,
    Query(alias="testCaseStatus", description="Only results of this status."),
]

router = DeclaredRoutes(prefix="/dataQuality/testCases", tags=["results"])


@router.put("/{fqn}/testCaseResult", name="put_result", openapi_extra=answers("TestCase", reads="TestCaseResult"))
@router.post("/testCaseResults/{fqn}", openapi_extra=answers("TestCase", reads="TestCaseResult"))
def add_result(fqn: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Report a result of a test case (also at an older path): at least ``timestamp`` (ms) and ``testCaseStatus``."""
    permitted_document("testCase", Key.by_name(fqn), caller, Operation.EDIT_TESTS)
    written = caller.parts.writes.add_test_result(fqn, body, actor=caller.actor)
    response = written_answer(ENTITY_TYPES["testCase"], written, caller)
    response.headers.update(dated_ahead([body.get("timestamp")], caller))
    return response


@router.get("/testCaseResults/{fqn}", openapi_extra=answers("TestCaseResultPage"))
def list_results(fqn: PathText, caller: Asked, window: WindowAsked, *, status: Status = None) -> Response:
    """Return the results of a test case in a time range, newest first."""
    case = permitted_document("testCase", Key.by_name(fqn), caller, Operation.VIEW_TESTS, include="all")
    return page_answer(
        _with_masks(caller.parts.reports.observations.page(case["id"], _KIND, window, status=status), case, caller)
    )


@router.get("/testCaseResults/{fqn}/latest", openapi_extra=answers("TestCaseResult"))
def read_latest(fqn: PathText, caller: Asked) -> Response:
    """Return the latest result of a test case."""
    case = permitted_document("testCase", Key.by_name(fqn), caller, Operation.VIEW_TESTS, include="all")
    page = _with_masks(caller.parts.reports.observations.page(case["id"], _KIND, ReportWindow(limit=1)), case, caller)
    if not page.documents:
        raise NotFound(f"testCase {fqn} has no result yet")
    return answer(page.documents[0])


@router.patch("/testCaseResults/{fqn}/{timestamp}", openapi_extra=answers("TestCaseResult", reads="JsonPatch"))
def patch(fqn: PathText, timestamp: Moment, body: JsonBody, caller: Asked) -> Response:
    """Correct a result by JSON Patch; changing it to ``Failed`` counts as a failure."""
    work = partial(patch_result, at_ms=timestamp, operations=body if isinstance(body, list) else [])
    written = write_permitted("testCase", Key.by_name(fqn), caller, Operation.EDIT_TESTS, work)
    case_id = written.document["id"]
    page = caller.parts.reports.observations.page(case_id, _KIND, ReportWindow(timestamp, timestamp, 1))
    return answer(_with_masks(page, written.document, caller).documents[0])


@router.delete("/testCaseResults/{fqn}/{timestamp}", openapi_extra=answers("TestCase"))
def delete(fqn: PathText, timestamp: Moment, caller: Asked) -> Response:
    """Delete the result of a time."""
    work = partial(remove_result, at_ms=timestamp)
    written = write_permitted("testCase", Key.by_name(fqn), caller, Operation.EDIT_TESTS, work)
    return written_answer(ENTITY_TYPES["testCase"], written, caller)


def _with_masks(page: DocumentPage, case: Document, caller: Caller) -> DocumentPage:
    """Return results with a mask in place of their failed rows, where the table has something to mask."""
    if not any(SAMPLE in result for result in page.documents):
        return page
    table = caller.parts.catalogue.get("table", Key.by_name(place_of(case["entityFQN"])[0]), "all")
    if not masked_columns(table, masked_tags_for(caller, table)):
        return page
    masked = [result | {SAMPLE: MASK} if SAMPLE in result else result for result in page.documents]
    return DocumentPage(masked, page.total, page.after)
