"""Reads of threads: pages, single threads, their posts, and counts per asset.

A cursor is the time and id of the previous thread, so a page costs the same at any position.
Next: ``store/catalogue/feed/filters.py`` for the filters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection, Engine, func, select

from tocsin.errors import NotFound
from tocsin.model.entity import Document
from tocsin.model.entity_link import EntityLink, steps_of
from tocsin.model.thread import StoredThread, TaskStatus, ThreadType, thread_document
from tocsin.store.catalogue.access.visibility import Scopes
from tocsin.store.catalogue.feed.filters import (
    FeedQuery,
    FilterType,
    ThreadCursor,
    conditions_of,
    conditions_to_count,
    lies_at,
    lies_before,
)
from tocsin.store.catalogue.feed.rows import THREAD_COLUMNS, SqlThreads, thread_of
from tocsin.store.database.cursors import not_a_cursor
from tocsin.store.database.documents import from_text, references_by_id
from tocsin.store.database.engine import fetch_rows, fetch_values, reading
from tocsin.store.database.feed_tables import thread, thread_post


class Sees(Protocol):
    """Which assets a person may see."""

    def look_up(self, assets: Iterable[tuple[str, str]]) -> None:
        """Find out about these, by type and id, at once."""

    def __call__(self, entity_type: str, entity_id: str, /) -> bool:
        """Return whether the person may see the asset of this type and id."""


Show = Callable[[Sequence[StoredThread]], list[Document]]
"""Makes documents of threads, one of each."""

_THREAD, _POST = thread.c, thread_post.c
_AT_ONCE = 200
_MOST_LOOKED_AT = 5_000
"""Threads that one page looks at, at most, to find those that may be seen."""


@dataclass(frozen=True)
class ThreadPage:
    """Some threads, the latest changed first; how many fit the question; the cursors of the pages around them."""

    threads: list[Document]
    total: int
    after: ThreadCursor | None = None
    before: ThreadCursor | None = None


@dataclass(frozen=True)
class ThreadWindow:
    """Which threads a page shows, the latest changed first: at most ``limit`` after a place, or before one."""

    limit: int
    after: ThreadCursor | None = None
    before: ThreadCursor | None = None


class ThreadPortion(NamedTuple):
    """The threads of a page, and the places of the pages around it."""

    threads: list[StoredThread]
    after: ThreadCursor | None = None
    before: ThreadCursor | None = None


class Feed:
    """Reads threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, thread_id: str, *, posts: int) -> Document:
        """Return a thread with its latest posts.

        Raises
        ------
        NotFound : there is no such thread
        """
        with reading(self._engine) as connection:
            row = connection.execute(select(*THREAD_COLUMNS).where(_THREAD.id == thread_id)).one_or_none()
            if row is None:
                raise NotFound(f"thread {thread_id} not found")
            return _thread_documents(connection, [thread_of(row)], posts)[0]

    def id_of_task(self, number: int) -> str:
        """Return the id of the thread that is the task of this number.

        Raises
        ------
        NotFound : there is no such task
        """
        with reading(self._engine) as connection:
            thread_id = SqlThreads(connection).id_of_task(number)
        if thread_id is None:
            raise NotFound(f"task {number} not found")
        return thread_id

    def posts(self, thread_id: str) -> list[Document]:
        """Return all posts of a thread, oldest first."""
        query = select(_POST.document).where(_POST.thread_id == thread_id).order_by(_POST.posted_at_ms, _POST.id)
        return [from_text(text) for text in fetch_values(self._engine, query)]

    def page(self, query: FeedQuery, sees: Sees, *, limit: int, posts: int) -> ThreadPage:
        """Return the threads that ``query`` asks for and ``sees`` allows, each with its latest posts."""
        with reading(self._engine) as connection:
            return page_of(
                connection, query, sees, limit, lambda threads: _thread_documents(connection, threads, posts)
            )

    def counts(self, asset: Document, steps: tuple[str, ...], *, now_ms: int) -> list[Document]:
        """Return upstream's thread counts: one for the asset, and for each part of it, that has threads."""
        active = (_THREAD.start_ms <= now_ms) & (_THREAD.end_ms >= now_ms)
        query = (
            select(_THREAD.steps, _THREAD.kind, _THREAD.task_status, active.label("active"), func.count().label("n"))
            .where(_THREAD.about_id == asset["id"], lies_at(steps))
            .group_by(_THREAD.steps, _THREAD.kind, _THREAD.task_status, active)
        )
        counts: dict[str, Counter[tuple[str, str]]] = {}
        for row in fetch_rows(self._engine, query.order_by(_THREAD.steps)):
            counts.setdefault(row.steps, Counter())[row.kind, row.task_status or str(bool(row.active))] += row.n
        link = (asset["type"], asset["fullyQualifiedName"])
        return [_thread_count(str(EntityLink(*link, steps_of(at))), one) for at, one in counts.items()]

    def counts_of(self, user_id: str, link: str, scopes: Scopes) -> list[Document]:
        """Return upstream's thread count of a person: threads about what they own, their tasks, their mentions.

        It counts what these scopes may see.
        """
        of_person = FeedQuery(user_id=user_id, scopes=scopes)
        tasks = replace(of_person, kind=ThreadType.TASK)
        queries = {
            "conversationCount": replace(of_person, kind=ThreadType.CONVERSATION),
            "openTaskCount": replace(tasks, task_status=TaskStatus.OPEN),
            "closedTaskCount": replace(tasks, task_status=TaskStatus.CLOSED),
            "totalTaskCount": tasks,
            "mentionCount": replace(of_person, filter_type=FilterType.MENTIONS),
        }
        with reading(self._engine) as connection:
            return [{"entityLink": link} | {key: _matching_count(connection, query) for key, query in queries.items()}]


def page_of(connection: Connection, query: FeedQuery, sees: Sees, limit: int, show: Show) -> ThreadPage:
    """Return the threads that ``query`` asks for and ``sees`` allows, as ``show`` makes documents of them."""
    conditions, total = conditions_of(connection, query), _matching_count(connection, query)
    portion = threads_in(connection, ThreadWindow(limit, query.after, query.before), conditions, sees)
    return ThreadPage(show(portion.threads), total, after=portion.after, before=portion.before)


def threads_in(
    connection: Connection, window: ThreadWindow, conditions: Sequence[Any], sees: Sees
) -> ThreadPortion:  # Any: SQLAlchemy's conditions
    """Return the threads of a page that ``sees`` allows, and the places of the pages around it."""
    backwards = window.before is not None
    threads, unseen = visible_threads(
        connection, window.before or window.after, conditions, sees=sees, limit=window.limit + 1, backwards=backwards
    )
    onward = place_in(threads[window.limit - 1]) if len(threads) > window.limit else unseen
    threads = threads[: window.limit]
    back = place_in(threads[0]) if threads and (window.before or window.after) else None
    if backwards:
        threads.reverse()
    after, before = (back, onward) if backwards else (onward, back)
    return ThreadPortion(threads, after, before)


def _matching_count(connection: Connection, query: FeedQuery) -> int:
    return count_threads(connection, conditions_to_count(connection, query))


def count_threads(connection: Connection, conditions: Sequence[Any]) -> int:  # Any: SQLAlchemy's conditions
    """Return how many threads fulfil these conditions."""
    return int(connection.execute(select(func.count()).select_from(thread).where(*conditions)).scalar_one())


def _thread_count(link: str, counts: Counter[tuple[str, str]]) -> Document:
    """Return upstream's thread count of one link; ``counts`` are by type, and by status or whether it is active."""
    open_tasks, closed_tasks = (counts[ThreadType.TASK, status] for status in TaskStatus)
    active, past = (counts[ThreadType.ANNOUNCEMENT, str(is_so)] for is_so in (True, False))
    return {
        "entityLink": link,
        "conversationCount": sum(n for (kind, _), n in counts.items() if kind == ThreadType.CONVERSATION),
        "openTaskCount": open_tasks,
        "closedTaskCount": closed_tasks,
        "totalTaskCount": open_tasks + closed_tasks,
        "mentionCount": 0,
        "totalAnnouncementCount": active + past,
        "activeAnnouncementCount": active,
        "inactiveAnnouncementCount": past,
    }


def visible_threads(
    connection: Connection,
    at: ThreadCursor | None,
    conditions: Sequence[Any],
    *,
    sees: Sees,
    limit: int,
    backwards: bool = False,
) -> tuple[list[StoredThread], ThreadCursor | None]:
    """Return the next threads from a place on that may be seen, the latest first; ``backwards``: the ones before it.

    The place is where to look on when there are too many in a row that may not be seen; None when all were looked at.
    """
    order = (_THREAD.updated_at_ms, _THREAD.id) if backwards else (_THREAD.updated_at_ms.desc(), _THREAD.id.desc())
    visible: list[StoredThread] = []
    read_count = 0
    while len(visible) < limit and read_count < max(limit, _MOST_LOOKED_AT):
        thread_query = (
            select(*THREAD_COLUMNS).where(*conditions, *lies_before(at, backwards=backwards)).order_by(*order)
        )
        at_once = max(limit, _AT_ONCE) if read_count else limit
        threads = [thread_of(row) for row in connection.execute(thread_query.limit(at_once))]
        read_count += len(threads)
        sees.look_up({(one.about_type, one.about_id) for one in threads})
        visible += [one for one in threads if sees(one.about_type, one.about_id)]
        if len(threads) < at_once:
            return visible[:limit], None
        at = place_in(threads[-1])
    return visible[:limit], at


def _thread_documents(connection: Connection, threads: Sequence[StoredThread], posts: int) -> list[Document]:
    """Return threads as they are shown, with what they refer to as it is called now."""
    references = references_by_id(
        connection, {stored_thread.about_id for stored_thread in threads} | set(_assignee_ids(threads))
    )
    latest_posts = SqlThreads(connection).latest_posts_of(threads, posts)
    documents = []
    for stored_thread in threads:
        asset = asset_in(references, stored_thread)
        documents.append(
            _with_assignees(thread_document(stored_thread, asset, latest_posts[stored_thread.id]), references)
        )
    return documents


def asset_in(references: Mapping[str, Document], stored_thread: StoredThread) -> Document:
    """Return the reference to what a thread is about, of those by id. Raises ``NotFound``: it is gone."""
    asset = references.get(stored_thread.about_id)
    if asset is None:
        raise NotFound(f"{stored_thread.about_type} {stored_thread.about_id} not found")
    return asset


def _with_assignees(document: Document, references: dict[str, Document]) -> Document:
    if "task" not in document:
        return document
    assignees = [references.get(one["id"], one) for one in document["task"]["assignees"]]
    return document | {"task": document["task"] | {"assignees": assignees}}


def _assignee_ids(threads: Iterable[StoredThread]) -> Iterable[str]:
    return (one["id"] for thread_ in threads for one in thread_.task.get("assignees") or ())


def place_in(thread: StoredThread) -> ThreadCursor:
    """Return the place of a thread in the order of threads."""
    return ThreadCursor(thread.document["updatedAt"], thread.id)


def place_of(cursor: str, field: str) -> ThreadCursor:
    """Return the position of a cursor.

    Raises
    ------
    InvalidInput : the text is no cursor of ours
    """
    moment, _, thread_id = cursor.partition("_")
    is_id = 0 < len(thread_id) <= 36 and thread_id.isprintable()
    if not (moment.isascii() and moment.isdigit() and len(moment) < 16 and is_id):
        raise not_a_cursor(cursor, field)
    return ThreadCursor(int(moment), thread_id)


def cursor_of(place: ThreadCursor | None) -> str | None:
    """Return the cursor for a position: digits, letters, ``-`` and ``_`` alone."""
    return None if place is None else f"{place.updated_at_ms}_{place.thread_id}"
