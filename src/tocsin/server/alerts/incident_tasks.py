"""Schema of the tasks that show incidents of test cases.

*Source:* OpenMetadata 2.0, ``entity/tasks/task.json``. Next: ``alerts/incident_tasks.py``.
"""

from __future__ import annotations

from tocsin.alerts.incident_tasks import CATEGORY, PRIORITIES, STATUSES, TYPE
from tocsin.model.entity import Document
from tocsin.server.http.json_schema import FLAG, ID, OPEN, TEXT, TIME, array, either, exact_object

_TRANSITION = exact_object(
    {"id": TEXT, "label": TEXT, "targetStageId": TEXT, "targetTaskStatus": either(*STATUSES)},
    {"resolutionType": TEXT, "formRef": TEXT, "requiresComment": FLAG},
)

TASK: Document = exact_object(
    {
        "id": ID,
        "name": TEXT,
        "category": {"const": CATEGORY},
        "type": {"const": TYPE},
        "status": either(*STATUSES),
        "priority": either(*PRIORITIES),
        "about": OPEN,
        "assignees": array(OPEN),
        "payload": OPEN,
        "workflowStageId": TEXT,
        "workflowStageDisplayName": TEXT,
        "availableTransitions": array(_TRANSITION),
        "createdAt": TIME,
        "updatedAt": TIME,
    },
    {"createdBy": OPEN, "updatedBy": TEXT, "resolution": OPEN},
)
"""An incident of a test case as a task."""
