"""Routes of tasks as OpenMetadata 2 has them: an entity of its own, whose id is that of its thread in ``/feed``.

Incidents of test cases are among them, by their ``stateId``. Next: ``server/entities/task_pages.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import Path, Query, Response

from tocsin.alerts.incident_tasks import asked_assignee
from tocsin.catalogue.feed.task_requests import (
    BulkRequest,
    Decision,
    parse_bulk,
    parse_comment,
    parse_decision,
    parse_task,
)
from tocsin.errors import InvalidInput, NotFound, TocsinError
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link
from tocsin.model.task import APPROVE, CANCEL, TaskState
from tocsin.model.thread import NOBODY_ID
from tocsin.server.alerts.hourly_counts import count_post
from tocsin.server.alerts.stand_ins import stand_in_for
from tocsin.server.entities.incident_tasks import is_incident, take_incident_step, visible_incident_task
from tocsin.server.entities.reports import page_answer
from tocsin.server.entities.response import with_address
from tocsin.server.entities.task_pages import TaskPageQuery, TaskQuery, filter_of, page_of_tasks, statuses_of
from tocsin.server.http.body_values import patch_of
from tocsin.server.http.paths import API
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, JsonBody, PathId, TextBody, answer
from tocsin.server.routes.feed.decisions import decide_task
from tocsin.server.routes.feed.threads import document_of, sees, visible, visible_by_number
from tocsin.store.catalogue.feed.tasks import TaskView

Comment = Annotated[str | None, Query(max_length=65_536, description="Why.")]
CountView = Annotated[TaskView | None, Query(description="Only tasks that concern the caller so.")]
TaskName = Annotated[str, Path(max_length=40, description="TASK-00001, also TASK-1 or 1, or its id.")]

_MOST_COMMENTS = 1_000
_TASK_ID = re.compile(r"(?:TASK-)?(\d{1,15})", re.ASCII | re.IGNORECASE)

router = DeclaredRoutes(prefix="/tasks", tags=["tasks"])


@router.get("", openapi_extra=answers("TaskEntityPage"))
def list_tasks(caller: Asked, query: Annotated[TaskPageQuery, Query()]) -> Response:
    """Return a page of tasks, last changed first: those about assets, and the last incident of each test case."""
    return _list_answer(query, None, caller)


@router.get("/assigned", openapi_extra=answers("TaskEntityPage"))
def list_assigned_tasks(caller: Asked, query: Annotated[TaskPageQuery, Query()]) -> Response:
    """Return a page of tasks that are assigned to the caller or a team of theirs."""
    return _list_answer(query, TaskView.ASSIGNED, caller)


@router.get("/owned", openapi_extra=answers("TaskEntityPage"))
def list_owned_tasks(caller: Asked, query: Annotated[TaskPageQuery, Query()]) -> Response:
    """Return a page of tasks about what the caller or a team of theirs owns."""
    return _list_answer(query, TaskView.OWNED, caller)


@router.get("/created", openapi_extra=answers("TaskEntityPage"))
def list_created_tasks(caller: Asked, query: Annotated[TaskPageQuery, Query()]) -> Response:
    """Return a page of tasks that the caller created."""
    return _list_answer(query, TaskView.CREATED, caller)


@router.get("/visible", openapi_extra=answers("TaskEntityPage"))
def list_visible_tasks(caller: Asked, query: Annotated[TaskPageQuery, Query()]) -> Response:
    """Return a page of tasks that are assigned to the caller or a team of theirs, or about what these own."""
    return _list_answer(query, TaskView.VISIBLE, caller)


@router.post("", status_code=201, openapi_extra=answers("TaskEntity", reads="CreateTaskRequest"))
def create_task(body: DocumentBody, caller: Asked) -> Response:
    """Create a task about an asset; without assignees it is for the asset's owners."""
    document_of(parse_link(body.get("about"), "about"), caller)
    request = parse_task(body)
    count_post([request.message, request.suggestion], caller)
    written = caller.parts.discussion.task_writes.create(request, actor=caller.actor)
    return answer(_task(written.document["id"], caller), 201)


@router.get("/count", openapi_extra=answers("TaskCount"))
def count_tasks(caller: Asked, query: Annotated[TaskQuery, Query()], view: CountView = None) -> Response:
    """Return the number of tasks about assets by status; incidents are not among them."""
    task_filter = replace(filter_of(query, statuses_of(query), caller), view=view, person_id=caller.actor.id)
    counts = caller.parts.discussion.tasks.counts(task_filter)
    open_count, total = counts.get(TaskState.OPEN, 0), sum(counts.values())
    closed = {"approved": counts.get(TaskState.APPROVED, 0), "granted": 0, "completed": total - open_count}
    return answer({"open": open_count, "inProgress": 0, **closed, "total": total})


@router.post("/bulk", openapi_extra=answers("BulkTaskResult", reads="BulkTaskRequest"))
def change_tasks(body: DocumentBody, caller: Asked) -> Response:
    """Approve, Reject, Cancel, Assign or UpdatePriority of up to 100 tasks, each for itself."""
    request = parse_bulk(body)
    results = [_bulk_result(one, request, caller) for one in request.task_ids]
    failure_count = sum(1 for one in results if one["status"] == "failed")
    counts = {"totalRequested": len(results), "successful": len(results) - failure_count, "failed": failure_count}
    return answer({**counts, "results": results})


@router.get("/name/{name}", openapi_extra=answers("TaskEntity"))
def read_task_by_name(name: TaskName, caller: Asked, fields: str | None = None, include: str | None = None) -> Response:
    """Return a task by its ``taskId``, such as TASK-00001, or its number; ``fields`` and ``include`` change nothing."""
    return answer(_task(_id_of(name, caller), caller))


@router.get("/{task_id}", openapi_extra=answers("TaskEntity"))
def read_task(task_id: PathId, caller: Asked, fields: str | None = None, include: str | None = None) -> Response:
    """Return a task with its comments; ``fields`` and ``include`` change nothing."""
    return answer(_task(str(task_id), caller))


@router.patch("/{task_id}", openapi_extra=answers("TaskEntity", reads="JsonPatch"))
def patch_task(task_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Apply a JSON Patch to a task: display name, description, priority, assignees, reviewers, due date, tags."""
    thread_id = str(task_id)
    _check_no_incident(thread_id, caller)
    shown_task, operations = _task(thread_id, caller), patch_of(body)
    count_post([str(one["value"]) for one in operations if "value" in one], caller)
    caller.parts.discussion.task_writes.patch(thread_id, shown_task, operations, actor=caller.actor)
    return answer(_task(thread_id, caller))


@router.delete("/{task_id}", openapi_extra=answers("TaskEntity"))
def delete_task(task_id: PathId, caller: Asked) -> Response:
    """Delete a task with its comments for good; for its author and administrators."""
    thread_id = str(task_id)
    _check_no_incident(thread_id, caller)
    task = _task(thread_id, caller)
    caller.parts.discussion.feed_writes.delete(thread_id, actor=caller.actor)
    return answer(task | {"deleted": True})


@router.post("/{task_id}/resolve", openapi_extra=answers("TaskEntity", reads="TaskTransition"))
def resolve_task(task_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Take a task by one of the transitions that it offers; one that is approved writes its value into the asset."""
    if is_incident(str(task_id), caller):
        return answer(_on_wire(_take_incident_step(str(task_id), body, caller), caller))
    visible(str(task_id), caller)
    return answer(_decide(str(task_id), parse_decision(body), caller))


@router.post("/{task_id}/close", openapi_extra=answers("TaskEntity"))
def close_task(task_id: PathId, caller: Asked, comment: Comment = None) -> Response:
    """Cancel a task: nothing is written; ``comment`` says why."""
    _check_no_incident(str(task_id), caller)
    return answer(_decide(str(task_id), Decision(CANCEL, None, comment or None), caller))


@router.put("/{task_id}/suggestion/apply", openapi_extra=answers("TaskEntity"))
def apply_suggestion(task_id: PathId, caller: Asked, comment: Comment = None) -> Response:
    """Approve a suggestion: what it suggests is written into the asset."""
    _check_no_incident(str(task_id), caller)
    return answer(_decide(str(task_id), Decision(APPROVE, None, comment or None), caller))


@router.post("/{task_id}/comments", openapi_extra=answers("TaskEntity", reads="TaskComment"))
def add_comment(task_id: PathId, body: TextBody, caller: Asked) -> Response:
    """Add a comment to a task: the body is its text, or JSON with a ``message``."""
    thread_id = str(task_id)
    _check_no_incident(thread_id, caller)
    _visible_task(thread_id, caller)
    message = parse_comment(body)
    count_post([message], caller)
    caller.parts.discussion.task_writes.comment(thread_id, message, actor=caller.actor)
    return answer(_task(thread_id, caller))


def _list_answer(query: TaskPageQuery, view: TaskView | None, caller: Caller) -> Response:
    page = page_of_tasks(query, sees(caller), caller, view)
    return page_answer(replace(page, documents=_all_on_wire(page.documents, caller)))


def _bulk_result(name: str, request: BulkRequest, caller: Caller) -> Document:
    try:
        thread_id = _id_of(name, caller)
        _check_no_incident(thread_id, caller)
        if request.decision is not None:
            _decide(thread_id, request.decision, caller)
        else:
            _visible_task(thread_id, caller)
            count_post([], caller)
            caller.parts.discussion.task_writes.edit(thread_id, request.edits, actor=caller.actor)
    except TocsinError as refusal:
        return {"taskId": name, "status": "failed", "error": refusal.message}
    return {"taskId": name, "status": "success"}


def _decide(thread_id: str, decision: Decision, caller: Caller) -> Document:
    """Take a task through a transition, if the caller may edit what that writes; return the task."""
    decide_task(_visible_task(thread_id, caller), decision, caller)
    return _task(thread_id, caller)


def _take_incident_step(state_id: str, request: Document, caller: Caller) -> Document:
    """Take an incident one step further; of an assignee who is away to their substitute, if they may view the test."""
    task, assignee = visible_incident_task(state_id, caller), asked_assignee(request)
    stand_in = None if assignee is None else stand_in_for(assignee, task["about"], caller)
    return take_incident_step(task, request, stand_in, caller)


def _visible_task(thread_id: str, caller: Caller) -> Document:
    """Return the thread of a task, if the caller may see what it is about."""
    thread = visible(thread_id, caller)
    if "task" not in thread:
        raise NotFound(f"task {thread_id} not found")
    return thread


def _task(thread_id: str, caller: Caller) -> Document:
    """Return a task as it is shown, if the caller may see what it is about."""
    if is_incident(thread_id, caller):
        return _on_wire(visible_incident_task(thread_id, caller), caller)
    task = caller.parts.discussion.tasks.get(thread_id, comments=_MOST_COMMENTS)
    if not sees(caller)(task["about"]["type"], task["about"]["id"]):
        raise NotFound(f"task {thread_id} not found")
    return _on_wire(task, caller)


def _on_wire(task: Document, caller: Caller) -> Document:
    """Return a task for a response: with its own URL and that of the asset, without hidden people."""
    return _all_on_wire([task], caller)[0]


def _all_on_wire(tasks: Sequence[Document], caller: Caller) -> list[Document]:
    """Return tasks for a response, as ``_on_wire`` does; what they refer to is looked up at once."""
    address = f"{caller.root}{API}/tasks/"
    return [
        _without_hidden_ids(task, whole_task)
        | {"href": f"{address}{task['id']}", "about": with_address(task["about"], caller.root)}
        for task, whole_task in zip(caller.visibility.visible_documents(tasks), tasks, strict=True)
    ]


def _without_hidden_ids(task: Document, whole_task: Document) -> Document:
    """Return a task without the ids of people whose references are hidden; every comment has an author."""
    hidden_keys = {f"{key}Id" for key in ("createdBy", "approvedBy") if key in whole_task and key not in task}
    shown_task = {key: value for key, value in task.items() if key not in hidden_keys}
    comments = [{"author": {"id": NOBODY_ID, "type": "user"}, **one} for one in task.get("comments") or ()]
    return shown_task | ({"comments": comments} if comments else {})


def _id_of(name: str, caller: Caller) -> str:
    """Return the id of a task that is named by id or by ``taskId``.

    Raises
    ------
    NotFound : there is no such task, or the caller may not see what it is about; the words are the same
    """
    match = _TASK_ID.fullmatch(name)
    if match is None:
        return name
    try:
        return str(visible_by_number(int(match[1]), caller)["id"])
    except NotFound as error:
        raise NotFound(f"task {name} not found") from error


def _check_no_incident(task_id: str, caller: Caller) -> None:
    """Refuse what incidents cannot: their steps are transitions, and they stay.

    Raises
    ------
    InvalidInput : the task is an incident
    """
    if is_incident(task_id, caller):
        visible_incident_task(task_id, caller)
        raise InvalidInput("this task is the incident of a test case; take it by one of its transitions", field="id")
