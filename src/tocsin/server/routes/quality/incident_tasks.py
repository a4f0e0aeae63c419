"""Routes of OpenMetadata 2 that show incidents of test cases as tasks: list, read, take one step further.

Tasks of conversations are ``server/routes/feed/tasks.py``. Next: ``alerts/incident_tasks.py``.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from tocsin.alerts.incident_tasks import CATEGORY, GROUPS, STATUSES, TYPE, take_transition, task_of
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import permitted_document, require, scope_on
from tocsin.server.entities.reports import page_answer, write_permitted
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, QueryParameters, answer
from tocsin.store.catalogue.quality.incidents import IncidentStateFilter
from tocsin.store.database.cursors import DocumentPage, ReportWindow

router = DeclaredRoutes(prefix="/tasks", tags=["incidents"])


class TaskQuery(QueryParameters):
    """Filters of the list, as OpenMetadata's client sends them; ``fields`` and ``include`` change nothing."""

    status: str | None = Field(default=None, description="Open, InProgress or Completed.")
    status_group: str | None = Field(default=None, description="open or closed.")
    category: str | None = Field(default=None, description="Others than Incident have no tasks here.")
    type: str | None = Field(default=None, description="Others than TestCaseResolution have no tasks here.")
    assignee: str | None = Field(default=None, description="Name of a user or team.")
    about_entity: str | None = Field(default=None, max_length=10_000, description="Full name of a test case.")
    fields: str | None = None
    include: str | None = None
    limit: int = Field(default=10, ge=1, le=1_000)
    after: str | None = Field(default=None, max_length=100)


@router.get("", openapi_extra=answers("IncidentTaskPage"))
def list_tasks(caller: Asked, query: Annotated[TaskQuery, Query()]) -> Response:
    """Return the last incident of each test case as a task, newest first."""
    require(caller, Operation.VIEW_TESTS, ENTITY_TYPES["testCase"])
    if query.category not in (None, CATEGORY) or query.type not in (None, TYPE):
        return page_answer(DocumentPage([], 0))
    incidents = caller.parts.reports.incidents
    page = incidents.page(_filter(query, caller), ReportWindow(limit=query.limit, after=query.after))
    steps = incidents.of_states([one["stateId"] for one in page.documents])
    tasks = [task_of(steps[one["stateId"]]) for one in page.documents]
    return page_answer(DocumentPage(tasks, page.total, page.after))


@router.get("/{state_id}", openapi_extra=answers("IncidentTask"))
def read_task(state_id: PathId, caller: Asked) -> Response:
    """Return the incident with that ``stateId`` as a task."""
    return answer(_visible_task(str(state_id), caller))


@router.post("/{state_id}/resolve", openapi_extra=answers("IncidentTask", reads="IncidentTransition"))
def take_task_transition(state_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Acknowledge, assign or resolve an incident by one of the transitions that its task offers."""
    task = _visible_task(str(state_id), caller)
    work = partial(take_transition, state_id=str(state_id), request=body)
    write_permitted("testCase", Key.by_id(task["about"]["id"]), caller, Operation.EDIT_TESTS, work)
    return answer(_visible_task(str(state_id), caller))


def _visible_task(state_id: str, caller: Caller) -> Document:
    steps = caller.parts.reports.incidents.of_state(state_id)
    if not steps:
        raise NotFound(f"task {state_id} not found")
    case = Key.by_id(steps[0]["testCaseReference"]["id"])
    permitted_document("testCase", case, caller, Operation.VIEW_TESTS, include="all")
    return task_of(steps)


def _filter(query: TaskQuery, caller: Caller) -> IncidentStateFilter:
    return IncidentStateFilter(
        statuses=_statuses(query),
        assignee_id=query.assignee and (_id("user", query.assignee, caller) or _id("team", query.assignee, caller)),
        test_case_id=query.about_entity and _id("testCase", query.about_entity, caller),
        latest=True,
        visible=scope_on(caller, "testCase", Operation.VIEW_TESTS),
    )


def _statuses(query: TaskQuery) -> tuple[str, ...] | None:
    """Return the statuses of incidents that are asked for; None for all.

    Raises
    ------
    InvalidInput : a word is no status, or no group of statuses
    """
    statuses: tuple[str, ...] | None = None
    for field, word, meanings in (("status", query.status, STATUSES), ("statusGroup", query.status_group, GROUPS)):
        if word is not None and word not in meanings:
            raise InvalidInput(f"must be one of {', '.join(meanings)}", field=field)
        if word is not None:
            statuses = tuple(one for one in meanings[word] if statuses is None or one in statuses)
    return statuses


def _id(entity_type: str, name: str, caller: Caller) -> str:
    """Return the id of what has a name; empty if nothing has it."""
    reference = caller.parts.catalogue.reference(entity_type, Key.by_name(name))
    return reference["id"] if reference else ""
