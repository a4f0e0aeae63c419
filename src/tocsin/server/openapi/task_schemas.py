"""Schemas of tasks and announcements of OpenMetadata 2: requests and answers.

*Source:* OpenMetadata 2.0, ``entity/tasks/task.json`` and ``api/tasks``. Next: ``model/task.py``.
"""

from __future__ import annotations

from tocsin.alerts.incident_tasks import TYPE
from tocsin.catalogue.feed.task_requests import MOST_TASKS
from tocsin.model.announced_thread import AnnouncementStatus
from tocsin.model.entity import Document
from tocsin.model.task import CATEGORIES, PRIORITIES, RESOLUTIONS, TYPES, UNUSED_STATES, TaskState
from tocsin.server.http.json_schema import (
    COUNT,
    FLAG,
    ID,
    NUMBER,
    OPEN,
    TEXT,
    TIME,
    array,
    closed_object,
    either,
    exact_object,
    nullable,
)

_STATUS = either(*(one.value for one in TaskState), *UNUSED_STATES)
_TRANSITION = exact_object(
    {"id": TEXT, "label": TEXT, "targetStageId": TEXT, "targetTaskStatus": _STATUS},
    {"resolutionType": TEXT, "formRef": TEXT, "requiresComment": FLAG},
)
_COMMENT = exact_object({"id": ID, "message": TEXT, "author": OPEN, "createdAt": TIME}, {"reactions": array(OPEN)})
_RESOLUTION = exact_object(
    {"type": either(*RESOLUTIONS), "resolvedAt": TIME},
    {"resolvedBy": OPEN, "comment": TEXT, "newValue": TEXT, "payload": OPEN},
)

TASK_ANSWERS: dict[str, Document] = {
    "TaskEntity": exact_object(
        {
            "id": ID,
            "name": TEXT,
            "category": either(*CATEGORIES),
            "type": either(*TYPES, TYPE),
            "status": _STATUS,
            "priority": either(*PRIORITIES),
            "about": OPEN,
            "assignees": array(OPEN),
            "workflowStageId": TEXT,
            "workflowStageDisplayName": TEXT,
            "availableTransitions": array(_TRANSITION),
            "createdAt": TIME,
            "updatedAt": TIME,
            "href": TEXT,
        },
        {
            "taskId": TEXT,
            "fullyQualifiedName": TEXT,
            "displayName": TEXT,
            "description": TEXT,
            "domains": array(OPEN),
            "createdBy": OPEN,
            "createdById": ID,
            "approvedBy": OPEN,
            "approvedById": ID,
            "approvedAt": TIME,
            "reviewers": array(OPEN),
            "payload": OPEN,
            "resolution": _RESOLUTION,
            "dueDate": TIME,
            "externalReference": OPEN,
            "comments": array(_COMMENT),
            "commentCount": COUNT,
            "tags": array(OPEN),
            "updatedBy": TEXT,
            "version": NUMBER,
            "deleted": FLAG,
        },
    ),
    "AnnouncementEntity": exact_object(
        {
            "id": ID,
            "name": TEXT,
            "fullyQualifiedName": TEXT,
            "displayName": TEXT,
            "description": TEXT,
            "entityLink": TEXT,
            "startTime": TIME,
            "endTime": TIME,
            "status": either(*AnnouncementStatus),
            "createdBy": TEXT,
            "updatedBy": TEXT,
            "owners": array(OPEN),
            "domains": array(OPEN),
            "reactions": array(OPEN),
            "createdAt": TIME,
            "updatedAt": TIME,
            "deleted": FLAG,
            "href": TEXT,
        }
    ),
    "TaskCount": exact_object(
        {"open": COUNT, "inProgress": COUNT, "approved": COUNT, "granted": COUNT, "completed": COUNT, "total": COUNT}
    ),
    "BulkTaskResult": exact_object(
        {
            "totalRequested": COUNT,
            "successful": COUNT,
            "failed": COUNT,
            "results": array(exact_object({"taskId": TEXT, "status": either("success", "failed")}, {"error": TEXT})),
        }
    ),
}
"""A task, an announcement, the number of tasks, what became of those of a bulk request."""

_PEOPLE = nullable(array({"anyOf": [TEXT, OPEN]}))
_TASK_IDS: Document = {**array(TEXT), "minItems": 1, "maxItems": MOST_TASKS}

TASK_REQUESTS: dict[str, Document] = {
    "CreateTaskRequest": closed_object(
        {
            "name": nullable(TEXT),
            "displayName": nullable(TEXT),
            "description": nullable(TEXT),
            "category": either(*CATEGORIES),
            "type": either(*TYPES),
            "priority": nullable(either(*PRIORITIES)),
            "about": TEXT,
            "assignees": _PEOPLE,
            "reviewers": _PEOPLE,
            "payload": nullable(OPEN),
            "dueDate": nullable(TIME),
            "externalReference": nullable(OPEN),
            "tags": nullable(array(OPEN)),
        },
        required=["category", "type", "about"],
    ),
    "CreateAnnouncementRequest": closed_object(
        {
            "name": nullable(TEXT),
            "displayName": nullable(TEXT),
            "description": TEXT,
            "entityLink": TEXT,
            "startTime": TIME,
            "endTime": TIME,
            "owners": nullable({**array(TEXT), "maxItems": 0}),
        },
        required=["description", "entityLink", "startTime", "endTime"],
    ),
    "TaskTransition": closed_object(
        {
            "transitionId": nullable(TEXT),
            "resolutionType": nullable(TEXT),
            "comment": nullable(TEXT),
            "newValue": nullable(TEXT),
            "payload": nullable(OPEN),
        }
    ),
    "TaskComment": closed_object({"message": TEXT}, required=["message"]),
    "BulkTaskRequest": closed_object(
        {
            "taskIds": _TASK_IDS,
            "operation": either("Approve", "Reject", "Assign", "UpdatePriority", "Cancel"),
            "params": nullable(
                closed_object(
                    {"comment": nullable(TEXT), "assignees": _PEOPLE, "priority": nullable(either(*PRIORITIES))}
                )
            ),
        },
        required=["taskIds", "operation"],
    ),
}
"""What the routes of tasks read."""
