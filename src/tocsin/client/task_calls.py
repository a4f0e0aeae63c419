"""Request builders for tasks.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from urllib.parse import quote

from tocsin.client.call import ApiCall, Filter, Pages, pages_of, read_document, without_none
from tocsin.model.entity import Document

_ROOT = "tasks"


def create_task(task: Document) -> ApiCall[Document]:
    """Create a task: ``about``, ``category``, ``type``, and what else ``POST /tasks`` reads."""
    return ApiCall("POST", _ROOT, read_document, body=task)


def list_tasks(view: str | None = None, **filters: Filter) -> Pages[Document]:
    """Iterate over tasks, last changed first; filters are the API's, e.g. ``status_group``, ``assignee``.

    ``view`` is ``assigned``, ``owned``, ``created`` or ``visible``: those that concern the caller or their teams so.
    """
    return pages_of(f"{_ROOT}/{view}" if view else _ROOT, filters, read_document)


def get_task(name: str) -> ApiCall[Document]:
    """Return a task, by its number (``TASK-00007``, also ``TASK-7`` and ``7``) or id."""
    return ApiCall("GET", _path("name", name), read_document)


def resolve_task(
    task_id: str, transition: str, *, comment: str | None = None, new_value: str | None = None
) -> ApiCall[Document]:
    """Take a task by ``approve``, ``reject``, ``complete``, ``cancel`` or ``reopen``; one approved writes its asset."""
    body = {"transitionId": transition, "comment": comment, "newValue": new_value}
    stated_values = without_none(body)
    return ApiCall("POST", _path(task_id, "resolve"), read_document, body=stated_values)


def comment_on_task(task_id: str, message: str) -> ApiCall[Document]:
    """Add a comment to a task."""
    return ApiCall("POST", _path(task_id, "comments"), read_document, body={"message": message})


def _path(*parts: str) -> str:
    return "/".join((_ROOT, *(quote(part, safe="") for part in parts)))
