"""Checks of tasks of OpenMetadata 2: every call of its client on them, and the same tasks as threads."""

from __future__ import annotations

from typing import Any

from checks.checking import CheckSetup, check, id_of, text
from metadata.generated.schema.api.feed.closeTask import CloseTaskRequest
from metadata.generated.schema.api.feed.resolveTask import ResolveTaskRequest as ResolveFeedTaskRequest
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.entity.tasks.task import Task as StrictTask
from metadata.ingestion.ometa.task_models import (
    BulkTaskOperationRequest,
    CreateTaskRequest,
    ResolveTaskRequest,
    TaskCategory,
    TaskEntityStatus,
    TaskEntityType,
    TaskPriority,
)


def _request(table: Any, **fields: Any) -> CreateTaskRequest:
    request = {
        "category": TaskCategory.MetadataUpdate,
        "type": TaskEntityType.DescriptionUpdate,
        "about": f"<#E::table::{text(table.fullyQualifiedName)}>",
        "assignees": ["olga"],
        "payload": {"fieldPath": "description", "newDescription": "Every order."},
    }
    return CreateTaskRequest(**request | fields)


@check("create_task get_task_by_task_id list_tasks resolve_task", "an approved task describes its table")
def _check_approved_task(setup: CheckSetup) -> None:
    table = setup.table()
    task = setup.metadata.create_task(_request(table, priority=TaskPriority.High))
    assert (task.status, task.priority) == (TaskEntityStatus.Open, TaskPriority.High)
    assert setup.metadata.get_task_by_task_id(task.taskId).id == task.id
    about = text(table.fullyQualifiedName)
    listed = setup.metadata.list_tasks(about_entity=about, assignee="olga", status_group="open", fields=["comments"])
    assert ([one.id for one in listed.entities], listed.total) == ([task.id], 1)
    setup.metadata.resolve_task(id_of(task), ResolveTaskRequest(transitionId="approve", comment="right"))
    read = setup.metadata.get_task(id_of(task), fields=["comments"])
    assert (read.status, read.resolution.comment) == (TaskEntityStatus.Approved, "right")
    assert text(setup.metadata.get_by_id(Table, id_of(table)).description) == "Every order."
    StrictTask.model_validate(setup.metadata.client.get(f"/tasks/{id_of(task)}"))


@check("apply_suggestion", "a suggested description is written")
def _check_suggested_task(setup: CheckSetup) -> None:
    table = setup.table()
    payload = {"suggestionType": "Description", "fieldPath": "columns.id.description", "suggestedValue": "Its key."}
    task = setup.metadata.create_task(_request(table, type=TaskEntityType.Suggestion, payload=payload))
    assert setup.metadata.apply_suggestion(id_of(task), "so it is").status is TaskEntityStatus.Approved
    columns = setup.metadata.get_by_id(Table, id_of(table)).columns
    assert {text(column.name): column.description for column in columns}["id"].root == "Its key."


@check("add_task_comment patch_task close_task", "a task is commented, changed and closed")
def _check_closed_task(setup: CheckSetup) -> None:
    task = setup.metadata.create_task(_request(setup.table()))
    commented = setup.metadata.add_task_comment(id_of(task), "Who knows?")
    assert [one.message for one in commented.comments] == ["Who knows?"]
    operation = {"op": "replace", "path": "/priority", "value": "Critical"}
    assert setup.metadata.patch_task(id_of(task), [operation]).priority is TaskPriority.Critical
    closed = setup.metadata.close_task(id_of(task), comment="nobody & nothing")
    assert (closed.status, closed.resolution.comment) == (TaskEntityStatus.Cancelled, "nobody & nothing")


@check("bulk_task_operation", "several tasks are rejected at once")
def _check_bulk(setup: CheckSetup) -> None:
    tasks = [setup.metadata.create_task(_request(setup.table())) for _ in range(2)]
    request = BulkTaskOperationRequest(
        taskIds=[id_of(tasks[0]), tasks[1].taskId], operation="Reject", params={"comment": "no"}
    )
    result = setup.metadata.bulk_task_operation(request)
    assert (result.totalRequested, result.successful, result.failed) == (2, 2, 0)
    assert {setup.metadata.get_task(id_of(one)).status for one in tasks} == {TaskEntityStatus.Rejected}


@check("get_task_thread resolve_feed_task close_feed_task", "a task is a thread of the feed, too")
def _check_thread(setup: CheckSetup) -> None:
    tables = [setup.table(), setup.table()]
    resolved, closed = (setup.metadata.create_task(_request(table)) for table in tables)
    numbers = [int(task.taskId.removeprefix("TASK-")) for task in (resolved, closed)]
    assert setup.metadata.get_task_thread(numbers[0]).id.root == resolved.id.root
    setup.metadata.resolve_feed_task(numbers[0], ResolveFeedTaskRequest(newValue="Said in the feed."))
    setup.metadata.close_feed_task(numbers[1], CloseTaskRequest(comment="no"))
    assert setup.metadata.get_task(id_of(resolved)).status is TaskEntityStatus.Approved
    assert setup.metadata.get_task(id_of(closed)).status is TaskEntityStatus.Rejected
    assert text(setup.metadata.get_by_id(Table, id_of(tables[0])).description) == "Said in the feed."
