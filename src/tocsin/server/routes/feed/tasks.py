"""Routes of tasks by number: read, edit, resolve and close.

Next: ``server/routes/feed/threads.py``.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from tocsin.catalogue.feed.tasks import field_of
from tocsin.model.access import Operation
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import require
from tocsin.server.alerts.hourly_counts import count_post
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, DocumentBody, JsonBody, answer
from tocsin.server.routes.feed.threads import on_wire, patch_answer, visible_by_number

TaskNumber = Annotated[int, Path(ge=1, le=2**53)]

_ALL_POSTS = 1_000_000
_EDITS = {"description": Operation.EDIT_DESCRIPTION, "tags": Operation.EDIT_TAGS}

router = DeclaredRoutes(prefix="/feed/tasks", tags=["feed"])


@router.get("/{number}", openapi_extra=answers("Thread"))
def read_task(number: TaskNumber, caller: Asked) -> Response:
    """Return the thread of a task by number."""
    return answer(on_wire(visible_by_number(number, caller, posts=_ALL_POSTS), caller))


@router.patch("/{number}", openapi_extra=answers("Thread", reads="JsonPatch"))
def patch_task(number: TaskNumber, body: JsonBody, caller: Asked) -> Response:
    """Apply a JSON Patch to a task's thread, for example to reassign it (``/task/assignees``)."""
    return patch_answer(visible_by_number(number, caller)["id"], body, caller)


@router.put("/{number}/resolve", openapi_extra=answers("Thread", reads="ResolveRequest"))
def resolve_task(number: TaskNumber, body: DocumentBody, caller: Asked) -> Response:
    """Resolve a task: write ``newValue`` (description or tags) into the asset."""
    thread = visible_by_number(number, caller)
    field = field_of(thread.get("task", {}).get("type", ""))
    if field is not None:
        asset = thread["entityRef"]
        document = caller.parts.catalogue.get(asset["type"], Key.by_id(asset["id"]), "all")
        require(caller, _EDITS[field], ENTITY_TYPES[asset["type"]], document)
    count_post([body.get("newValue")], caller)
    written = caller.parts.discussion.feed_writes.resolve(thread["id"], body, actor=caller.actor)
    return answer(on_wire(written.document, caller))


@router.put("/{number}/close", openapi_extra=answers("Thread", reads="CloseTask"))
def close_task(number: TaskNumber, body: DocumentBody, caller: Asked) -> Response:
    """Close a task without a change; ``comment`` says why."""
    thread_id = visible_by_number(number, caller)["id"]
    count_post([body.get("comment")], caller)
    written = caller.parts.discussion.feed_writes.close(thread_id, body, actor=caller.actor)
    return answer(on_wire(written.document, caller))
