"""Reads of tasks as OpenMetadata 2 has them: pages by its filters, single ones, and counts by state.

Next: ``store/catalogue/feed/threads.py``, whose threads they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import ColumnElement, Connection, Engine, func, or_, select

from tocsin.errors import NotFound
from tocsin.model.entity import Document
from tocsin.model.task import TYPES, TaskSurroundings, task_document
from tocsin.model.thread import FACTS, StoredThread, ThreadPart, ThreadType, reference_to_former_person
from tocsin.store.catalogue.access.visibility import Scopes
from tocsin.store.catalogue.feed.filters import lies_in_domain, lies_in_scopes
from tocsin.store.catalogue.feed.rows import THREAD_COLUMNS, SqlThreads, thread_of
from tocsin.store.catalogue.feed.threads import Sees, ThreadPage, ThreadWindow, asset_in, count_threads, threads_in
from tocsin.store.database.documents import references_by_id
from tocsin.store.database.engine import reading
from tocsin.store.database.feed_tables import thread, thread_part
from tocsin.store.database.tables import entity, ownership

_THREAD, _PART = thread.c, thread_part.c
_Condition = ColumnElement[bool]
_NONE: frozenset[str] = frozenset()


class TaskView(StrEnum):
    """How tasks concern a person, themselves or through their teams."""

    ASSIGNED = "assigned"
    OWNED = "owned"
    CREATED = "created"
    VISIBLE = "visible"
    """Assigned, or about what they own."""


@dataclass(frozen=True)
class TaskFilter:
    """Filters of tasks; None is no filter.

    Attributes
    ----------
    states, kinds, priority, category : what 2.x says of them
    assignee_ids, mentioned_ids, creator_ids : ids of users and teams; empty: nobody is so called
    about_fqn : full name of the asset that they are about
    domain_id : id of a domain in which that lies; empty: no domain is so called
    view, person_id : only those that concern this person so
    scopes : which assets the requester may see
    """

    states: Collection[str] | None = None
    kinds: Collection[str] | None = None
    category: str | None = None
    priority: str | None = None
    assignee_ids: Collection[str] | None = None
    mentioned_ids: Collection[str] | None = None
    creator_ids: Collection[str] | None = None
    about_fqn: str | None = None
    domain_id: str | None = None
    view: TaskView | None = None
    person_id: str = ""
    scopes: Scopes = field(default_factory=dict)


Show = Callable[[StoredThread, TaskSurroundings], Document]
"""Makes a document of a task."""


class TaskList:
    """Reads tasks, those of type ``kind`` if there is one, as ``show`` makes documents of them."""

    def __init__(self, engine: Engine, show: Show = task_document, *, kind: str | None = None) -> None:
        self._engine, self._show, self._kind = engine, show, kind

    def get(self, thread_id: str, *, comments: int = 0) -> Document:
        """Return a task with its latest comments.

        Raises
        ------
        NotFound : there is no such task
        """
        with reading(self._engine) as connection:
            query = select(*THREAD_COLUMNS).where(_THREAD.id == thread_id, _THREAD.kind == ThreadType.TASK.value)
            of_kind = query if self._kind is None else query.where(_THREAD.task_type == self._kind)
            row = connection.execute(of_kind).one_or_none()
            if row is None:
                raise NotFound(f"task {thread_id} not found")
            return self._documents(connection, [thread_of(row)], comments)[0]

    def page(self, task_filter: TaskFilter, sees: Sees, window: ThreadWindow, *, comments: int = 0) -> ThreadPage:
        """Return the tasks that fit the filter and ``sees`` allows, each with its latest comments."""
        with reading(self._engine) as connection:
            threads, after, before = threads_in(connection, window, _conditions(connection, task_filter), sees)
            total = count_threads(connection, _visible_conditions(connection, task_filter))
            return ThreadPage(self._documents(connection, threads, comments), total, after, before)

    def counts(self, task_filter: TaskFilter) -> dict[str, int]:
        """Return the number of tasks that fit the filter and its scopes, by state."""
        with reading(self._engine) as connection:
            conditions = _visible_conditions(connection, task_filter)
            query = select(_THREAD.task_state, func.count()).where(*conditions)
            grouped = connection.execute(query.group_by(_THREAD.task_state))
            return {str(state): int(count) for state, count in grouped}

    def _documents(self, connection: Connection, threads: Sequence[StoredThread], comments: int) -> list[Document]:
        posts = SqlThreads(connection).latest_posts_of(threads, comments)
        authors = SqlThreads(connection).authors_of(posts)
        ids = {*authors.values(), *(one for stored_thread in threads for one in _ids_in(stored_thread))}
        references = references_by_id(connection, ids)
        documents = []
        for stored_thread in threads:
            asset = asset_in(references, stored_thread)
            shown_comments = [
                _comment(post, references.get(authors.get(post["id"], ""))) for post in posts[stored_thread.id]
            ]
            documents.append(self._show(stored_thread, TaskSurroundings(asset, references, shown_comments)))
        return documents


def _visible_conditions(connection: Connection, task_filter: TaskFilter) -> list[_Condition]:
    return _conditions(connection, task_filter) + lies_in_scopes(task_filter.scopes)


def _concerns(connection: Connection, view: TaskView, person_id: str) -> _Condition:
    """Return the condition that a task concerns a person in this way."""
    if view is TaskView.CREATED:
        return _THREAD.created_by_id == person_id
    principals = [person_id, *sorted(SqlThreads(connection).teams_of(person_id))]
    is_assignee = (_PART.principal_id.in_(principals), _PART.part == ThreadPart.ASSIGNEE.value)
    is_assigned = _THREAD.id.in_(select(_PART.thread_id).where(*is_assignee))
    is_owned = _THREAD.about_id.in_(select(ownership.c.entity_id).where(ownership.c.owner_id.in_(principals)))
    if view is TaskView.ASSIGNED:
        return is_assigned
    return is_owned if view is TaskView.OWNED else or_(is_assigned, is_owned)


def _conditions(connection: Connection, task_filter: TaskFilter) -> list[_Condition]:
    conditions: list[_Condition] = [_THREAD.task_state.is_not(None)]
    value_lists = (
        (_THREAD.task_state, task_filter.states),
        (_THREAD.task_type, task_filter.kinds),
        (_THREAD.created_by_id, task_filter.creator_ids),
    )
    conditions += [column.in_(sorted(values)) for column, values in value_lists if values is not None]
    if task_filter.category is not None:
        kinds = [name for name, kind in TYPES.items() if kind.category == task_filter.category]
        conditions.append(_THREAD.task_type.in_(kinds))
    if task_filter.priority is not None:
        conditions.append(_THREAD.task_priority == task_filter.priority)
    parts = ((ThreadPart.ASSIGNEE, task_filter.assignee_ids), (ThreadPart.MENTION, task_filter.mentioned_ids))
    for part, ids in parts:
        if ids is not None:
            of_part = select(_PART.thread_id).where(_PART.principal_id.in_(sorted(ids)), _PART.part == part.value)
            conditions.append(_THREAD.id.in_(of_part))
    if task_filter.about_fqn is not None:
        conditions.append(_THREAD.about_id.in_(select(entity.c.id).where(entity.c.fqn == task_filter.about_fqn)))
    if task_filter.domain_id is not None:
        conditions.append(lies_in_domain(task_filter.domain_id))
    if task_filter.view is not None:
        conditions.append(_concerns(connection, task_filter.view, task_filter.person_id))
    return conditions


def _ids_in(stored_thread: StoredThread) -> set[str]:
    """Return the ids of all that a task refers to."""
    facts = stored_thread.document.get(FACTS) or {}
    people = (*stored_thread.task["assignees"], *(facts.get("reviewers") or ()))
    ids = {stored_thread.about_id, stored_thread.created_by_id, *(one["id"] for one in people)}
    resolver = facts.get("resolvedById")
    return ids | set(stored_thread.document.get("domains") or ()) | ({resolver} if resolver else set())


def _comment(post: Document, author: Document | None) -> Document:
    """Return a post as a comment; ``author`` is None for who is deleted for good."""
    shown_author = author or reference_to_former_person(post["from"])
    comment = {"id": post["id"], "message": post["message"], "author": shown_author, "createdAt": post["postTs"]}
    return comment | {"reactions": post.get("reactions") or []}
