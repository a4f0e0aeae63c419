"""Routes of test suites: basic suites of tables, and logical suites that people assemble."""

from __future__ import annotations

from fastapi import Response

from tocsin.catalogue.quality.suites import add_cases, remove_case
from tocsin.errors import InvalidInput
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import permitted_document, require
from tocsin.server.entities.reports import Work, write_permitted
from tocsin.server.entities.serialize import past
from tocsin.server.http.body_values import value_in
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, HardDelete, PathId, answer
from tocsin.server.routes.entities.crud import written_answer

_SUITE = ENTITY_TYPES["testSuite"]

router = DeclaredRoutes(prefix="/dataQuality", tags=["suites"])


@router.post("/testSuites/basic", status_code=201, openapi_extra=answers("TestSuite", reads="CreateTestSuite"))
@router.post("/testSuites/executable", status_code=201, include_in_schema=False)
def create(body: DocumentBody, caller: Asked) -> Response:
    """Create the suite of a table (``basicEntityReference``); 409 if it exists. Alias: ``executable``."""
    require(caller, Operation.CREATE, _SUITE)
    return written_answer(_SUITE, caller.parts.writes.create(_SUITE.name, _of_table(body), actor=caller.actor), caller)


@router.put("/testSuites/basic", openapi_extra=answers("TestSuite", reads="CreateTestSuite", also=("200", "201")))
@router.put("/testSuites/executable", include_in_schema=False)
def put(body: DocumentBody, caller: Asked) -> Response:
    """Create or update the suite of a table. Alias: ``executable``."""
    require(caller, Operation.CREATE, _SUITE)
    return written_answer(_SUITE, caller.parts.writes.upsert(_SUITE.name, _of_table(body), actor=caller.actor), caller)


@router.delete("/testSuites/basic/{suite_id}", openapi_extra=answers("TestSuite"))
@router.delete("/testSuites/executable/{suite_id}", include_in_schema=False)
def delete(suite_id: PathId, caller: Asked, *, hard_delete: HardDelete = False, recursive: bool = False) -> Response:
    """Soft-delete the suite of a table, or hard-delete it with ``hardDelete``. Alias: ``executable``."""
    key = Key.by_id(str(suite_id))
    permitted_document(_SUITE.name, key, caller, Operation.DELETE, include="all")
    written = caller.parts.writes.delete(_SUITE.name, key, actor=caller.actor, recursive=recursive, hard=hard_delete)
    return answer(past(_SUITE, written.document, caller))


@router.put("/testCases/logicalTestCases", openapi_extra=answers("TestSuite", reads="CreateLogicalTestCases"))
def add_logical(body: DocumentBody, caller: Asked) -> Response:
    """Add test cases to a logical suite: ``testSuiteId`` and ``testCaseIds``."""
    suite_id = value_in(body, "testSuiteId", str, "must be the id of a test suite")
    return _on_suite(suite_id, caller, lambda record, suite: add_cases(record, suite, body.get("testCaseIds")))


@router.delete("/testCases/logicalTestCases/{suite_id}/{case_id}", openapi_extra=answers("TestSuite"))
def remove_logical(suite_id: PathId, case_id: PathId, caller: Asked) -> Response:
    """Remove a test case from a logical suite."""
    return _on_suite(str(suite_id), caller, lambda record, suite: remove_case(record, suite, str(case_id)))


def _on_suite(suite_id: str, caller: Caller, work: Work) -> Response:
    written = write_permitted(_SUITE.name, Key.by_id(suite_id.lower()), caller, Operation.EDIT_TESTS, work)
    return answer(past(_SUITE, written.document, caller))


def _of_table(body: Document) -> Document:
    if not body.get("basicEntityReference") and not body.get("executableEntityReference"):
        raise InvalidInput("is missing: give the fully qualified name of the table", field="basicEntityReference")
    return body
