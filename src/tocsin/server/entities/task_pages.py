"""Pages of tasks of OpenMetadata 2: threads that are tasks, and incidents of test cases, the latest changed first.

A cursor is a place in the order of both. Next: ``store/catalogue/feed/tasks.py``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from pydantic import Field

from tocsin.alerts.incident_tasks import CATEGORY, TYPE
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.phrases import hint
from tocsin.model.stored import Key
from tocsin.model.task import CATEGORIES, GROUPS, PRIORITIES, TYPES, UNUSED_STATES, TaskState
from tocsin.server.access.permissions import ids_to_filter_by, scopes_of
from tocsin.server.entities.incident_tasks import incident_page
from tocsin.server.request import Caller, QueryParameters
from tocsin.store.catalogue.feed.filters import ThreadCursor
from tocsin.store.catalogue.feed.tasks import TaskFilter, TaskView
from tocsin.store.catalogue.feed.threads import Sees, ThreadWindow
from tocsin.store.database.cursors import DocumentPage, ReportWindow, not_a_cursor, place_text

SHOWN_COMMENTS = 3
_STATES = (*(one.value for one in TaskState), *UNUSED_STATES)
_GROUPS = {"open": (*GROUPS["open"], "InProgress"), "closed": GROUPS["closed"]}
_THREAD, _INCIDENT = "0", "1"
_CURSOR = re.compile(r"([0-9]{1,15})_([01])_([0-9a-fA-F-]{36})")


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
    before: str | None = Field(default=None, max_length=60)
    after: str | None = Field(default=None, max_length=60)


class _TaskPlace(NamedTuple):
    """A place in the order of tasks: the latest changed first, of one moment threads before incidents."""

    at_ms: int
    kind: str
    id: str = ""

    def __str__(self) -> str:
        return "_".join((str(self.at_ms), self.kind, self.id))

    def among_threads(self) -> ThreadCursor:
        """Return the place as threads are read from it."""
        return ThreadCursor(self.at_ms, self.id if self.kind == _THREAD else "")

    def among_incidents(self) -> str:
        """Return the cursor with which incidents are read from it."""
        return place_text(self.at_ms, self.id if self.kind == _INCIDENT else "")


class _Entry(NamedTuple):
    """A task of a page, and its place."""

    task: Document
    place: _TaskPlace


class _TaskWindow(NamedTuple):
    limit: int
    after: _TaskPlace | None
    before: _TaskPlace | None


class _TasksOfOneKind(NamedTuple):
    """Tasks of one of the two kinds, how many there are, and whether there are more in the direction of reading.

    ``unseen`` is where threads were no longer looked at: too many in a row may not be seen.
    """

    entries: list[_Entry]
    total: int = 0
    has_more: bool = False
    unseen: _TaskPlace | None = None


def page_of_tasks(query: TaskPageQuery, sees: Sees, caller: Caller, view: TaskView | None = None) -> DocumentPage:
    """Return a page of the tasks that the caller may see; ``view``: those that concern them so.

    Raises
    ------
    InvalidInput : a word is no status, type, category or priority, or the cursor is none of ours
    """
    window, statuses = _window_of(query), statuses_of(query)
    task_filter = replace(filter_of(query, statuses, caller), view=view, person_id=caller.actor.id)
    threads = _threads(query, task_filter, window, sees, caller)
    incidents = _incidents_of_view(query, view, statuses, window, caller)
    backwards, limit = window.before is not None, window.limit
    in_order = sorted((*threads.entries, *incidents.entries), key=lambda one: (-one.place.at_ms, one.place.kind))
    entries = [one for one in in_order if _is_reached(one.place, threads.unseen, backwards=backwards)]
    has_more = threads.has_more or incidents.has_more or len(in_order) > limit
    entries = entries[-limit:] if backwards else entries[:limit]
    first, last = (entries[0].place, entries[-1].place) if entries else (None, None)
    furthest = first if backwards else last
    onward = (furthest if len(entries) == limit else threads.unseen or furthest) if has_more else None
    back = last if backwards else first if window.after else None
    after, before = (back, onward) if backwards else (onward, back)
    total = threads.total + incidents.total
    return DocumentPage([one.task for one in entries], total, after and str(after), before and str(before))


def _is_reached(place: _TaskPlace, unseen: _TaskPlace | None, *, backwards: bool) -> bool:
    """Return whether a place is reached before the one at which no more threads were looked at."""
    if unseen is None or place.kind == _THREAD:
        return True
    return place.at_ms <= unseen.at_ms if backwards else place.at_ms > unseen.at_ms


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
    creator_id = query.created_by_id and query.created_by_id.lower()
    creators = [
        _ids(query.created_by, caller, "user"),
        creator_id and ids_to_filter_by([{"type": "user", "id": creator_id}], caller),
    ]
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
    query: TaskPageQuery, task_filter: TaskFilter, window: _TaskWindow, sees: Sees, caller: Caller
) -> _TasksOfOneKind:
    comments = SHOWN_COMMENTS if "comments" in (query.fields or "").split(",") else 0
    after, before = window.after and window.after.among_threads(), window.before and window.before.among_threads()
    thread_window = ThreadWindow(window.limit, after, before)
    page = caller.parts.discussion.tasks.page(task_filter, sees, thread_window, comments=comments)
    entries = [_Entry(one, _TaskPlace(one["updatedAt"], _THREAD, one["id"])) for one in page.threads]
    onward = page.before if window.before else page.after
    unseen = onward if len(entries) < window.limit else None
    place = None if unseen is None else _TaskPlace(unseen.updated_at_ms, _THREAD, unseen.thread_id)
    return _TasksOfOneKind(entries, page.total, onward is not None, place)


def _incidents_of_view(
    query: TaskPageQuery,
    view: TaskView | None,
    statuses: tuple[str, ...] | None,
    window: _TaskWindow,
    caller: Caller,
) -> _TasksOfOneKind:
    """Return incidents; of a view those that are assigned to the caller, for incidents have nobody who creates them."""
    if view in (TaskView.CREATED, TaskView.OWNED):
        return _TasksOfOneKind([])
    if view is not None:
        if query.assignee not in (None, caller.actor.name):
            return _TasksOfOneKind([])
        query = query.model_copy(update={"assignee": caller.actor.name})
    return _incidents(query, statuses, window, caller)


def _incidents(
    query: TaskPageQuery, statuses: tuple[str, ...] | None, window: _TaskWindow, caller: Caller
) -> _TasksOfOneKind:
    """Return incidents; none for filters that no incident has a value for."""
    of_threads = (query.priority, query.created_by, query.created_by_id, query.mentioned_user, query.domain)
    if any(of_threads) or query.category not in (None, CATEGORY) or query.type not in (None, TYPE):
        return _TasksOfOneKind([])
    if query.assignee is not None and not _ids(query.assignee, caller, "user", "team"):
        return _TasksOfOneKind([])
    after, before = window.after and window.after.among_incidents(), window.before and window.before.among_incidents()
    report_window = ReportWindow(limit=window.limit, after=after, before=before)
    page, step_ids = incident_page(
        caller, statuses=statuses, assignee=query.assignee, about=query.about_entity, window=report_window
    )
    places = (_TaskPlace(task["updatedAt"], _INCIDENT, one) for task, one in zip(page.documents, step_ids, strict=True))
    entries = [_Entry(task, place) for task, place in zip(page.documents, places, strict=True)]
    return _TasksOfOneKind(entries, page.total, (page.before if window.before else page.after) is not None)


def _window_of(query: TaskPageQuery) -> _TaskWindow:
    if query.before and query.after:
        raise InvalidInput("give either after or before", field="before")
    return _TaskWindow(query.limit, _place_of(query.after, "after"), _place_of(query.before, "before"))


def _place_of(cursor: str | None, field: str) -> _TaskPlace | None:
    if not cursor:
        return None
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise not_a_cursor(cursor, field)
    return _TaskPlace(int(match[1]), match[2], match[3])


def _check_word(word: str | None, words: tuple[str, ...], field: str) -> None:
    if word is not None and word not in words:
        raise InvalidInput(f"must be one of {', '.join(words)}{hint(word, words)}", field=field)


def _ids(name: str | None, caller: Caller, *entity_types: str) -> list[str] | None:
    """Return the ids of what has a name; empty if nothing that the caller may see has it, None without a name."""
    if name is None:
        return None
    references = [caller.parts.catalogue.reference(one, Key.by_name(name)) for one in entity_types]
    return sorted(ids_to_filter_by([one for one in references if one], caller))
