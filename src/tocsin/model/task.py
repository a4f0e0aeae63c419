"""Tasks as OpenMetadata 2 has them: the same threads, with a type, a status, a priority and transitions of their own.

A thread's ``task`` holds what 1.x knows of it; what only 2.x knows lies beside it, under ``FACTS``, and is in no answer
of ``/feed`` and in no event. *Source:* OpenMetadata 2.0, ``entity/tasks/task.json``. Next:
``catalogue/feed/task_operations.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from tocsin.model.entity import Document
from tocsin.model.thread import DESCRIPTION_TASKS, FACTS, TAG_TASKS, StoredThread, TaskStatus, TaskType

PRIORITIES = ("Critical", "High", "Medium", "Low")
DEFAULT_PRIORITY = "Medium"
TASK_ID_PREFIX = "TASK-"

GLOSSARY_APPROVAL = "GlossaryApproval"
"""The type of a task by which reviewers approve or reject a glossary term; it opens by itself."""

APPROVAL, DATA_ACCESS, UPDATE, INCIDENT, REVIEW, CUSTOM = CATEGORIES = (
    "Approval",
    "DataAccess",
    "MetadataUpdate",
    "Incident",
    "Review",
    "Custom",
)


def task_name(number: int) -> str:
    """Return what a task is called by commands and by OpenMetadata 2: ``TASK-00007``."""
    return f"{TASK_ID_PREFIX}{number:05d}"


class TaskState(StrEnum):
    """What has become of a task."""

    OPEN = "Open"
    APPROVED = "Approved"
    REJECTED = "Rejected"
    COMPLETED = "Completed"
    CANCELLED = "Cancelled"


UNUSED_STATES = ("InProgress", "Pending", "Granted", "ManualRevoke", "Failed", "Revoked", "Expired")
"""States of upstream's workflows that no task but those of incidents has here."""

GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"open": ("Open",), "closed": tuple(one.value for one in TaskState if one is not TaskState.OPEN)}
)
"""Groups of states by which tasks are listed."""


class Transition(NamedTuple):
    """What may be done to a task: by id and label, and what becomes of it."""

    id: str
    label: str
    state: TaskState


APPROVE = Transition("approve", "Approve", TaskState.APPROVED)
REJECT = Transition("reject", "Reject", TaskState.REJECTED)
COMPLETE = Transition("complete", "Complete", TaskState.COMPLETED)
CANCEL = Transition("cancel", "Cancel", TaskState.CANCELLED)
REOPEN = Transition("reopen", "Reopen", TaskState.OPEN)

TRANSITIONS: Mapping[str, Transition] = MappingProxyType(
    {one.id: one for one in (APPROVE, REJECT, COMPLETE, CANCEL, REOPEN)}
)
RESOLUTIONS: Mapping[str, Transition] = MappingProxyType(
    {one.state.value: one for one in (APPROVE, REJECT, COMPLETE, CANCEL)}
)
"""By the resolution type that a client names."""


class _Kind(NamedTuple):
    category: str
    type: TaskType


TYPES: Mapping[str, _Kind] = MappingProxyType(
    {
        GLOSSARY_APPROVAL: _Kind(APPROVAL, TaskType.REQUEST_APPROVAL),
        "RequestApproval": _Kind(APPROVAL, TaskType.REQUEST_APPROVAL),
        "DataAccessRequest": _Kind(DATA_ACCESS, TaskType.GENERIC),
        "DescriptionUpdate": _Kind(UPDATE, TaskType.UPDATE_DESCRIPTION),
        "TagUpdate": _Kind(UPDATE, TaskType.UPDATE_TAG),
        "OwnershipUpdate": _Kind(UPDATE, TaskType.GENERIC),
        "TierUpdate": _Kind(UPDATE, TaskType.GENERIC),
        "DomainUpdate": _Kind(UPDATE, TaskType.GENERIC),
        "Suggestion": _Kind(UPDATE, TaskType.UPDATE_DESCRIPTION),
        "IncidentResolution": _Kind(INCIDENT, TaskType.REQUEST_TEST_CASE_FAILURE_RESOLUTION),
        "PipelineReview": _Kind(REVIEW, TaskType.GENERIC),
        "DataQualityReview": _Kind(REVIEW, TaskType.GENERIC),
        "RecognizerFeedbackApproval": _Kind(REVIEW, TaskType.RECOGNIZER_FEEDBACK_APPROVAL),
        "CustomTask": _Kind(CUSTOM, TaskType.GENERIC),
    }
)
"""By type of 2.x, its category and what 1.x calls it; ``TestCaseResolution`` is a task that an incident is."""

_TYPE_OF_1: Mapping[str, str] = MappingProxyType(
    {
        TaskType.REQUEST_DESCRIPTION: "DescriptionUpdate",
        TaskType.UPDATE_DESCRIPTION: "DescriptionUpdate",
        TaskType.REQUEST_TAG: "TagUpdate",
        TaskType.UPDATE_TAG: "TagUpdate",
        TaskType.REQUEST_APPROVAL: "RequestApproval",
        TaskType.REQUEST_TEST_CASE_FAILURE_RESOLUTION: "IncidentResolution",
        TaskType.RECOGNIZER_FEEDBACK_APPROVAL: "RecognizerFeedbackApproval",
    }
)
_STAGES: Mapping[str, str] = MappingProxyType({one.value: one.value.lower() for one in TaskState})


def task_type_of(document: Document) -> str:
    """Return the type that 2.x gives to the task in a stored thread's document."""
    stated: str | None = _facts(document).get("type")
    return stated or _TYPE_OF_1.get(document["task"]["type"], "CustomTask")


def category_of(document: Document) -> str:
    """Return the category of the task in a stored thread's document."""
    return TYPES[task_type_of(document)].category


def state_of(document: Document) -> TaskState:
    """Return what has become of the task in a stored thread's document; 1.x only tells whether it is closed."""
    task, facts = document["task"], _facts(document)
    if task["status"] == TaskStatus.OPEN:
        return TaskState.OPEN
    if facts.get("state"):
        return TaskState(facts["state"])
    is_decision = category_of(document) in (UPDATE, APPROVAL, REVIEW, DATA_ACCESS)
    if "newValue" in task:
        return TaskState.APPROVED if is_decision else TaskState.COMPLETED
    return TaskState.REJECTED if is_decision else TaskState.CANCELLED


def priority_of(document: Document) -> str:
    """Return the priority of the task in a stored thread's document."""
    return str(_facts(document).get("priority") or DEFAULT_PRIORITY)


def transitions_of(document: Document) -> tuple[Transition, ...]:
    """Return what may be done to the task in a stored thread's document; what was approved stays so."""
    state = state_of(document)
    if state is not TaskState.OPEN:
        return () if state is TaskState.APPROVED or task_type_of(document) == GLOSSARY_APPROVAL else (REOPEN,)
    if task_type_of(document) == GLOSSARY_APPROVAL:
        return (APPROVE, REJECT)
    if category_of(document) in (CUSTOM, INCIDENT):
        return (COMPLETE, CANCEL)
    return (APPROVE, REJECT, CANCEL)


def value_key_of(document: Document) -> str | None:
    """Return the key of the asset that the task writes when it is approved; None when it writes nothing."""
    kind = document["task"]["type"]
    if kind in DESCRIPTION_TASKS:
        return "description"
    return "tags" if kind in TAG_TASKS else None


class TaskSurroundings(NamedTuple):
    """What a task is shown with: its asset, whom ids refer to, and its comments."""

    asset: Document
    references: Mapping[str, Document]
    comments: list[Document]


def task_document(thread: StoredThread, around: TaskSurroundings) -> Document:
    """Return the task of 2.x that a thread is."""
    document, facts = thread.document, _facts(thread.document)
    state, task_id = state_of(document), task_name(document["task"]["id"])
    task = {
        "id": thread.id,
        "taskId": task_id,
        "name": facts.get("name") or task_id,
        "displayName": facts.get("displayName"),
        "fullyQualifiedName": task_id,
        "description": document["message"],
        "category": category_of(document),
        "type": task_type_of(document),
        "status": state.value,
        "priority": priority_of(document),
        "about": around.asset,
        "domains": [around.references[one] for one in document.get("domains") or () if one in around.references],
        "createdBy": creator_of(thread, around),
        "createdById": thread.created_by_id,
        "assignees": _present(document["task"]["assignees"], around),
        "reviewers": _present(facts.get("reviewers") or [], around),
        "payload": _payload(thread),
        "resolution": _resolution(document, state, around),
        "dueDate": facts.get("dueDate"),
        "externalReference": facts.get("externalReference"),
        "workflowStageId": _STAGES[state],
        "workflowStageDisplayName": state.value,
        "availableTransitions": [_transition(one) for one in transitions_of(document)],
        "comments": around.comments,
        "commentCount": document["postsCount"],
        "tags": facts.get("tags") or [],
        "createdAt": document["threadTs"],
        "updatedAt": document["updatedAt"],
        "updatedBy": document["updatedBy"],
        "deleted": False,
    }
    return {key: value for key, value in (task | _approval(task)).items() if value is not None}


def creator_of(thread: StoredThread, around: TaskSurroundings) -> Document:
    """Return a reference to who began a task."""
    creator_id = thread.created_by_id
    return around.references.get(creator_id) or _person(creator_id, thread.document["createdBy"])


def _facts(document: Document) -> Document:
    facts: Document = document.get(FACTS) or {}
    return facts


def _approval(task: Document) -> Document:
    """Return who approved a task, and when, if one did."""
    resolution = task["resolution"] or {}
    if resolution.get("type") != TaskState.APPROVED:
        return {}
    approver = resolution.get("resolvedBy")
    return {"approvedBy": approver, "approvedById": approver and approver["id"], "approvedAt": resolution["resolvedAt"]}


def _resolution(document: Document, state: TaskState, around: TaskSurroundings) -> Document | None:
    if state is TaskState.OPEN:
        return None
    task, facts = document["task"], _facts(document)
    by_id = facts.get("resolvedById")
    resolution = {
        "type": state.value,
        "resolvedBy": by_id and (around.references.get(by_id) or _person(by_id, task["closedBy"])),
        "resolvedAt": task["closedAt"],
        "comment": facts.get("comment"),
        "newValue": task.get("newValue"),
    }
    return {key: value for key, value in resolution.items() if value is not None}


def _payload(thread: StoredThread) -> Document | None:
    """Return the payload that a client gave, or the one that says what 1.x says."""
    stated: Document | None = _facts(thread.document).get("payload")
    task, key = thread.task, value_key_of(thread.document)
    if stated is not None:
        return {"fieldPath": ".".join(thread.steps), **stated} if thread.steps and key is not None else stated
    if key is None:
        return None
    payload = {"fieldPath": ".".join(thread.steps) or key}
    if key == "description":
        texts = {"currentDescription": task.get("oldValue"), "newDescription": task.get("suggestion")}
        payload |= {name: text for name, text in texts.items() if text is not None}
    return payload


def _present(references: list[Document], around: TaskSurroundings) -> list[Document]:
    return [around.references.get(one["id"], one) for one in references]


def _person(user_id: str, name: str) -> Document:
    """Return a reference to who is deleted for good."""
    return {"id": user_id, "type": "user", "name": name, "deleted": True}


def _transition(transition: Transition) -> Document:
    ends = transition.state is not TaskState.OPEN
    return {
        "id": transition.id,
        "label": transition.label,
        "targetStageId": _STAGES[transition.state],
        "targetTaskStatus": transition.state.value,
        **({"resolutionType": transition.state.value} if ends else {}),
        "requiresComment": False,
    }
