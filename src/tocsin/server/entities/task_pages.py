"""Pages of tasks of OpenMetadata 2: threads that are tasks, and incidents of test cases, the latest changed first.

A cursor is a cursor of each of the two. Next: ``store/catalogue/feed/tasks.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import Field

from tocsin.alerts.incident_tasks import CATEGORY, TYPE
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.phrases import hint
from tocsin.model.stored import Key
from tocsin.model.task import CATEGORIES, GROUPS, PRIORITIES, TYPES, UNUSED_STATES, TaskState
from tocsin.server.access.permissions import scopes_of
from tocsin.server.entities.incident_tasks import incident_page
from tocsin.server.request import Caller, QueryParameters
from tocsin.store.catalogue.feed.tasks import TaskFilter
from tocsin.store.catalogue.feed.threads import Sees, cursor_of, place_of
from tocsin.store.database.cursors import DocumentPage, ReportWindow, not_a_cursor

SHOWN_COMMENTS = 3
_STATES = (*(one.value for one in TaskState), *UNUSED_STATES)
_GROUPS = {"open": (*GROUPS["open"], "InProgress"), "closed": GROUPS["closed"]}
_OVER, _BETWEEN = "-", "~"


class TaskQuery(QueryParameters):
    """Filters of tasks, as OpenMetadata's client sends them; ``include`` changes nothing."""

    status: str | None = Field(default=None, description="Open, InProgress, Approved, Rejected, Completed, Cancelled.")
    status_group: str | None = Field(default=None, description="open or closed.")
    category: str | None = Field(default=None, description="Only tasks of this category.")
    type: str | None = Field(default=None, description="Only tasks of this type.")
    priority: str | None = Field(default=None, description="Critical, High, Medium or Low.")
    assignee: str | None = Field(default=None, max_length=300, description="Name of a user or team.")
    created_by: str | None = Field(default=None, max_length=300, description="Name of who created them.")
    created_by_id: str | None = Field(default=None, max_length=36, description="Id of who created them.")
    mentioned_user: str | None = Field(default=None, max_length=300, description="Name of a user who is mentioned.")
    about_entity: str | None = Field(default=None, max_length=10_000, description="Full name of an asset.")
    domain: str | None = Field(default=None, max_length=10_000, description="Full name of a domain of the asset.")
    include: str | None = Field(default=None, description="Changes nothing: tasks are deleted for good.")


class TaskPageQuery(TaskQuery):
    """Filters of tasks, and which page of them."""

    fields: str | None = Field(
        default=None, max_length=2000, description="`comments`: with the latest comments; all else is there anyway."
    )
    limit: int = Field(default=10, ge=1, le=1_000)
    after: str | None = Field(default=None, max_length=200)


class _Cursor(NamedTuple):
    threads: str = ""
    incidents: str = ""

    def __str__(self) -> str:
        return _BETWEEN.join(self)


class _Entry(NamedTuple):
    """A task of a page, the cursor after it, and whether it is an incident."""

    task: Document
    cursor: str
    is_incident: bool


def page_of_tasks(query: TaskPageQuery, sees: Sees, caller: Caller) -> DocumentPage:
    """Return a page of the tasks that the caller may see.

    Raises
    ------
    InvalidInput : a word is no status, type, category or priority, or the cursor is none of ours
    """
    cursor, statuses = _cursor_of(query.after), statuses_of(query)
    task_filter = filter_of(query, statuses, caller)
    thread_page, threads = _threads(query, task_filter, cursor, sees, caller)
    incidents_page, incidents = _incidents(query, statuses, cursor, caller)
    entries = sorted((*threads, *incidents), key=lambda one: -one.task["updatedAt"])[: query.limit]
    after = _Cursor(
        _cursor_after(cursor.threads, threads, thread_page, [one for one in entries if not one.is_incident]),
        _cursor_after(cursor.incidents, incidents, incidents_page, [one for one in entries if one.is_incident]),
    )
    is_over = after == (_OVER, _OVER)
    total = thread_page.total + incidents_page.total
    return DocumentPage([one.task for one in entries], total, None if is_over else str(after))


def statuses_of(query: TaskQuery) -> tuple[str, ...] | None:
    """Return the statuses that are asked for; None for all.

    Raises
    ------
    InvalidInput : a word is no status, or no group of statuses
    """
    _check_word(query.status, _STATES, "status")
    _check_word(query.status_group, tuple(_GROUPS), "statusGroup")
    in_group = _GROUPS[query.status_group] if query.status_group else None
    if query.status is None:
        return in_group
    return (query.status,) if in_group is None or query.status in in_group else ()


def filter_of(query: TaskQuery, statuses: tuple[str, ...] | None, caller: Caller) -> TaskFilter:
    """Return the filter of threads that a query asks for.

    Raises
    ------
    InvalidInput : a word is no type, category or priority
    """
    _check_word(query.category, CATEGORIES, "category")
    _check_word(query.type, (*TYPES, TYPE), "type")
    _check_word(query.priority, PRIORITIES, "priority")
    creators = [_ids(query.created_by, caller, "user"), query.created_by_id and [query.created_by_id.lower()]]
    stated_creators = [set(one) for one in creators if one is not None]
    domain_ids = _ids(query.domain, caller, "domain")
    return TaskFilter(
        states=statuses,
        kinds=None if query.type is None else (query.type,),
        category=query.category,
        priority=query.priority,
        assignee_ids=_ids(query.assignee, caller, "user", "team"),
        mentioned_ids=_ids(query.mentioned_user, caller, "user", "team"),
        creator_ids=set.intersection(*stated_creators) if stated_creators else None,
        about_fqn=query.about_entity,
        domain_id=None if domain_ids is None else next(iter(domain_ids), ""),
        scopes=scopes_of(caller),
    )


def _threads(
    query: TaskPageQuery, task_filter: TaskFilter, cursor: _Cursor, sees: Sees, caller: Caller
) -> tuple[DocumentPage, list[_Entry]]:
    comments = SHOWN_COMMENTS if "comments" in (query.fields or "").split(",") else 0
    is_over = cursor.threads == _OVER
    after = None if is_over or not cursor.threads else place_of(cursor.threads, "after")
    task_list = caller.parts.discussion.tasks
    page = task_list.page(task_filter, sees, after=after, limit=query.limit, comments=comments)
    tasks = [] if is_over else page.tasks
    entries = [_Entry(one, f"{one['updatedAt']}_{one['id']}", is_incident=False) for one in tasks]
    return DocumentPage(tasks, page.total, None if is_over else cursor_of(page.after)), entries


def _incidents(
    query: TaskPageQuery, statuses: tuple[str, ...] | None, cursor: _Cursor, caller: Caller
) -> tuple[DocumentPage, list[_Entry]]:
    """Return the page of incidents; none for filters that no incident has a value for."""
    of_threads = (query.priority, query.created_by, query.created_by_id, query.mentioned_user, query.domain)
    if any(of_threads) or query.category not in (None, CATEGORY) or query.type not in (None, TYPE):
        return DocumentPage([], 0), []
    is_over = cursor.incidents == _OVER
    window = ReportWindow(limit=query.limit, after=None if is_over else cursor.incidents or None)
    page, cursors = incident_page(
        caller, statuses=statuses, assignee=query.assignee, about=query.about_entity, window=window
    )
    if is_over:
        return DocumentPage([], page.total), []
    entries = [_Entry(task, after, is_incident=True) for task, after in zip(page.documents, cursors, strict=True)]
    return page, entries


def _cursor_after(before: str, offers: list[_Entry], page: DocumentPage, page_entries: list[_Entry]) -> str:
    """Return where one of the two kinds goes on, of whose ``offers`` a page took the first."""
    if len(page_entries) == len(offers):
        return page.after or _OVER
    return page_entries[-1].cursor if page_entries else before


def _cursor_of(text: str | None) -> _Cursor:
    parts = (text or _BETWEEN).split(_BETWEEN)
    if len(parts) != len(_Cursor._fields):
        raise not_a_cursor(text or "")
    return _Cursor(*parts)


def _check_word(word: str | None, words: tuple[str, ...], field: str) -> None:
    if word is not None and word not in words:
        raise InvalidInput(f"must be one of {', '.join(words)}{hint(word, words)}", field=field)


def _ids(name: str | None, caller: Caller, *entity_types: str) -> list[str] | None:
    """Return the ids of what has a name; empty if nothing has it, None without a name."""
    if name is None:
        return None
    references = (caller.parts.catalogue.reference(one, Key.by_name(name)) for one in entity_types)
    return [one["id"] for one in references if one]
