"""Routes of incidents of failed tests: list, read, add and correct their states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from tocsin.alerts.incidents import take_step_for_all
from tocsin.catalogue.quality.incidents import DETAILS, KIND, correct_step
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.status import INCIDENT_STATUSES
from tocsin.model.stored import Key
from tocsin.model.substitute import StandIn
from tocsin.model.thread import NOBODY_ID
from tocsin.server.access.permissions import ids_to_filter_by, permitted_document, require, scope_on
from tocsin.server.alerts.stand_ins import stand_in_for
from tocsin.server.entities.reports import WindowAsked, Work, page_answer, write_permitted
from tocsin.server.http.body_values import value_in
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, JsonBody, PathId, QueryParameters, answer, list_answer
from tocsin.store.catalogue.quality.incidents import IncidentStateFilter

_NAMING_PEOPLE = ("assignee", "resolvedBy")
"""Details of a step that name a person, without which it is none."""

router = DeclaredRoutes(prefix="/dataQuality/testCases/testCaseIncidentStatus", tags=["incidents"])


class IncidentStateQuery(QueryParameters):
    """Filters of the list, in addition to a time window."""

    latest: bool = Field(default=False, description="Whether only the current step of each test case is returned.")
    test_case_resolution_status_type: str | None = Field(default=None, description="Only steps of this status.")
    assignee: str | None = Field(default=None, description="Id or name of a user or team.")
    test_case_fqn: str | None = Field(None, alias="testCaseFQN", max_length=10_000, description="Only this test case.")
    origin_entity_fqn: str | None = Field(
        None, alias="originEntityFQN", max_length=10_000, description="Only of this table."
    )


@router.post("", openapi_extra=answers("TestCaseResolutionStatus", reads="CreateTestCaseResolutionStatusRequest"))
def take(body: DocumentBody, caller: Asked) -> Response:
    """Set the incident of a test case to Ack, Assigned (assignee), Resolved (reason) or New.

    What is assigned to a person who is away goes to their substitute, if that one may view the test case.
    """
    fqn = value_in(body, "testCaseReference", str, "must be the fully qualified name of a test case")
    request, stand_in = _with_stand_in(body, fqn, caller)
    return _write(Key.by_name(fqn), caller, partial(take_step_for_all, request=request, stand_in=stand_in))


@router.get("", openapi_extra=answers("TestCaseResolutionStatusPage"))
def list_steps(caller: Asked, window: WindowAsked, query: Annotated[IncidentStateQuery, Query()]) -> Response:
    """Return incident steps, newest first; ``latest``: only the current one of each test case."""
    require(caller, Operation.VIEW_TESTS, ENTITY_TYPES["testCase"])
    page = caller.parts.reports.incidents.page(_filter(query, caller), window)
    return page_answer(replace(page, documents=_shown_steps(page.documents, caller)))


@router.get("/stateId/{state_id}", openapi_extra=answers("TestCaseResolutionStatusPage"))
def list_steps_of_incident(state_id: PathId, caller: Asked) -> Response:
    """Return all steps of an incident, newest first."""
    steps = caller.parts.reports.incidents.of_state(str(state_id))
    if not steps:
        raise NotFound(f"incident {state_id} not found")
    permitted_document(
        "testCase", Key.by_id(steps[0]["testCaseReference"]["id"]), caller, Operation.VIEW_TESTS, include="all"
    )
    return list_answer(_shown_steps(steps, caller))


@router.get("/{step_id}", openapi_extra=answers("TestCaseResolutionStatus"))
def read_step(step_id: PathId, caller: Asked) -> Response:
    """Return one incident step."""
    step = caller.parts.reports.incidents.get(str(step_id))
    permitted_document(
        "testCase", Key.by_id(step["testCaseReference"]["id"]), caller, Operation.VIEW_TESTS, include="all"
    )
    return answer(_shown_steps([step], caller)[0])


@router.patch("/{step_id}", openapi_extra=answers("TestCaseResolutionStatus", reads="JsonPatch"))
def patch_step(step_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Correct the severity of a step by JSON Patch; other fields are fixed."""
    step = caller.parts.reports.incidents.get(str(step_id))
    operations = body if isinstance(body, list) else []
    work = partial(correct_step, step_id=str(step_id), operations=operations)
    return _write(Key.by_id(step["testCaseReference"]["id"]), caller, work)


def _with_stand_in(body: Document, fqn: str, caller: Caller) -> tuple[Document, StandIn | None]:
    """Return a request with the substitute of an assignee who is away, and who is meant."""
    details = body.get(DETAILS)
    assignee = details.get("assignee") if isinstance(details, dict) else None
    if body.get(KIND) != "Assigned" or not isinstance(details, dict) or not isinstance(assignee, dict):
        return body, None
    case = caller.parts.catalogue.reference("testCase", Key.by_name(fqn))
    stand_in = None if case is None else stand_in_for(assignee, case, caller)
    if stand_in is None:
        return body, None
    return {**body, DETAILS: {**details, "assignee": stand_in.assignee}}, stand_in


def _write(case: Key, caller: Caller, work: Work) -> Response:
    written = write_permitted("testCase", case, caller, Operation.EDIT_TESTS, work)
    return answer(_shown_steps([written.document], caller)[0])


def _shown_steps(steps: Sequence[Document], caller: Caller) -> list[Document]:
    """Return steps without people who are hidden; details that need a person name nobody in their place."""
    return [
        step if shown_step == step else shown_step | _with_nobody(step.get(DETAILS), shown_step.get(DETAILS))
        for step, shown_step in zip(steps, caller.visibility.visible_documents(steps), strict=True)
    ]


def _with_nobody(details: object, shown_details: object) -> Document:
    if not isinstance(details, dict) or not isinstance(shown_details, dict):
        return {}
    nobody = {"id": NOBODY_ID, "type": "user"}
    hidden = {key: nobody for key in _NAMING_PEOPLE if key in details and key not in shown_details}
    return {DETAILS: shown_details | hidden}


def _filter(query: IncidentStateQuery, caller: Caller) -> IncidentStateFilter:
    status = query.test_case_resolution_status_type
    if status is not None and status not in INCIDENT_STATUSES:
        raise InvalidInput(f"must be one of {', '.join(INCIDENT_STATUSES)}", field="testCaseResolutionStatusType")
    return IncidentStateFilter(
        statuses=None if status is None else (status,),
        assignee_id=_assignee_id(query.assignee, caller),
        test_case_id=_id("testCase", query.test_case_fqn, caller),
        tested_id=_id("table", query.origin_entity_fqn, caller),
        latest=query.latest,
        visible=scope_on(caller, "testCase", Operation.VIEW_TESTS),
    )


def _id(entity_type: str, fqn: str | None, caller: Caller) -> str | None:
    """Return the id for a name filter: none without a filter, empty if nothing has that name."""
    if not fqn:
        return None
    reference = caller.parts.catalogue.reference(entity_type, Key.by_name(fqn))
    return reference["id"] if reference else ""


def _assignee_id(name: str | None, caller: Caller) -> str | None:
    """Return the id of a person or team for a filter; empty if there is none, or the caller may not see them."""
    if not name:
        return None
    references = (caller.parts.catalogue.reference(kind, Key.by_name(name)) for kind in ("user", "team"))
    reference = next((one for one in references if one is not None), None)
    return "" if reference is None else next(iter(ids_to_filter_by([reference], caller)), "")
