"""Incidents of test cases among the tasks of OpenMetadata 2: pages of them, single ones, and their next step.

Next: ``alerts/incident_tasks.py``.
"""

from __future__ import annotations

from functools import partial

from tocsin.alerts.incident_tasks import STATUSES, take_transition, task_of
from tocsin.errors import Forbidden, NotFound
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.model.substitute import StandIn
from tocsin.server.access.permissions import permitted_document, require, scope_on
from tocsin.server.entities.reports import write_permitted
from tocsin.server.request import Caller
from tocsin.store.catalogue.quality.incidents import IncidentStateFilter
from tocsin.store.database.cursors import DocumentPage, ReportWindow


def incident_page(
    caller: Caller, *, statuses: tuple[str, ...] | None, assignee: str | None, about: str | None, window: ReportWindow
) -> tuple[DocumentPage, list[str]]:
    """Return the last incident of each test case as a task, newest first, and the id of the step that each ends with.

    Parameters
    ----------
    statuses : of tasks (``STATUSES``)
    assignee, about : name of a user or team; full name of a test case
    """
    try:
        require(caller, Operation.VIEW_TESTS, ENTITY_TYPES["testCase"])
    except Forbidden:
        return DocumentPage([], 0), []
    state_filter = IncidentStateFilter(
        statuses=None if statuses is None else tuple(step for one in statuses for step in STATUSES.get(one, ())),
        assignee_id=assignee and (_id("user", assignee, caller) or _id("team", assignee, caller)),
        test_case_id=about and _id("testCase", about, caller),
        latest=True,
        visible=scope_on(caller, "testCase", Operation.VIEW_TESTS),
    )
    incidents = caller.parts.reports.incidents
    page = incidents.page(state_filter, window)
    steps = incidents.of_states([one["stateId"] for one in page.documents])
    tasks = [task_of(steps[one["stateId"]]) for one in page.documents]
    return DocumentPage(tasks, page.total, page.after, page.before), [one["id"] for one in page.documents]


def is_incident(state_id: str, caller: Caller) -> bool:
    """Return whether there is an incident of this ``stateId``, seen or not."""
    return bool(caller.parts.reports.incidents.of_state(state_id))


def visible_incident_task(state_id: str, caller: Caller) -> Document:
    """Return the incident with this ``stateId`` as a task, if the caller may see its test case.

    Raises
    ------
    NotFound : there is none
    Forbidden : the caller may not see it
    """
    steps = caller.parts.reports.incidents.of_state(state_id)
    if not steps:
        raise NotFound(f"task {state_id} not found")
    case = Key.by_id(steps[0]["testCaseReference"]["id"])
    permitted_document("testCase", case, caller, Operation.VIEW_TESTS, include="all")
    return task_of(steps)


def take_incident_step(task: Document, request: Document, stand_in: StandIn | None, caller: Caller) -> Document:
    """Take an incident by one of the transitions that its task offers; return the task. Raises as it is read.

    ``stand_in``: the person whom it is meant to be assigned to is away.
    """
    state_id = str(task["id"])
    work = partial(take_transition, state_id=state_id, request=request, stand_in=stand_in)
    write_permitted("testCase", Key.by_id(task["about"]["id"]), caller, Operation.EDIT_TESTS, work)
    return visible_incident_task(state_id, caller)


def _id(entity_type: str, name: str, caller: Caller) -> str:
    """Return the id of what has a name; empty if nothing has it."""
    reference = caller.parts.catalogue.reference(entity_type, Key.by_name(name))
    return reference["id"] if reference else ""
