"""Threads in one write transaction: rows of threads, their posts and their participants.

Implements ``ThreadRows`` of ``flow/capture/thread_ports.py``. Next: ``store/catalogue/feed/threads.py`` for reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, insert, literal, or_, select, update

from tocsin.chunks import chunks_of
from tocsin.model.announced_thread import is_to_begin
from tocsin.model.entity import Document
from tocsin.model.entity_link import join_steps, steps_of
from tocsin.model.task import priority_of, state_of, task_type_of
from tocsin.model.thread import FACTS, PartTaken, StoredThread, ThreadPart, ThreadType
from tocsin.store.database import documents
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.feed_tables import task_number, thread, thread_part, thread_post, tombstone_part
from tocsin.store.database.keys import delete_by_key, rows_by_key
from tocsin.store.database.tables import entity, membership

_THREAD, _POST, _PART, _GONE = thread.c, thread_post.c, thread_part.c, tombstone_part.c
THREAD_COLUMNS = (
    _THREAD.id,
    _THREAD.about_type,
    _THREAD.about_id,
    _THREAD.steps,
    _THREAD.created_by_id,
    _THREAD.document,
)
"""What makes a ``StoredThread``."""
_KEPT = select(*_PART, _THREAD.about_id).join(thread, _THREAD.id == _PART.thread_id)
"""The columns of ``tombstone_part`` without ``log_offset``."""
_BELOW = (thread_part, thread_post, task_number)


class SqlThreads:
    """The rows of threads, on one connection inside a write transaction."""

    def __init__(self, connection: Connection) -> None:
        self._run = connection.execute

    def find(self, thread_id: str) -> StoredThread | None:
        """Return a thread and hold it; None if there is none."""
        query = select(*THREAD_COLUMNS).where(_THREAD.id == thread_id).with_for_update()
        row = self._run(query).one_or_none()
        return thread_of(row) if row else None

    def id_of_task(self, number: int) -> str | None:
        """Return the id of the thread that is the task of this number."""
        query = select(task_number.c.thread_id).where(task_number.c.number == number)
        return self._run(query).scalar_one_or_none()

    def is_name_taken(self, name: str) -> bool:
        """Return whether an announcement has this name, or a thread this id: one without a name is called by its id."""
        return self._run(select(_THREAD.id).where(or_(_THREAD.name == name, _THREAD.id == name))).first() is not None

    def open_tasks(self, about_id: str, task_type: str) -> list[StoredThread]:
        """Return and hold the open tasks of this type of 2.x about an entity, oldest first."""
        is_such = (_THREAD.about_id == about_id, _THREAD.task_type == task_type, _THREAD.task_state == "Open")
        query = select(*THREAD_COLUMNS).where(*is_such).order_by(_THREAD.id).with_for_update()
        return [thread_of(row) for row in self._run(query)]

    def open_tasks_below(self, name: str, task_type: str) -> list[StoredThread]:
        """Return and hold the open tasks of this type of 2.x about what lies below a full name, oldest first."""
        below = select(entity.c.id).where(entity.c.fqn > f"{name}.", entity.c.fqn < f"{name}/")  # "/" comes after "."
        is_such = (_THREAD.about_id.in_(below), _THREAD.task_type == task_type, _THREAD.task_state == "Open")
        query = select(*THREAD_COLUMNS).where(*is_such).order_by(_THREAD.id).with_for_update()
        return [thread_of(row) for row in self._run(query)]

    def insert(self, new: StoredThread) -> None:
        """Add a thread."""
        self._run(insert(thread), _row(new))

    def update(self, changed: StoredThread) -> None:
        """Replace a thread's document."""
        self._run(update(thread).where(_THREAD.id == changed.id).values(_row(changed)))

    def erase(self, thread_id: str) -> None:
        """Remove a thread with its posts and participants; what it lost is remembered."""
        self._remember(thread_id)
        for table in _BELOW:
            self._run(delete(table).where(table.c.thread_id == thread_id))
        self._run(delete(thread).where(_THREAD.id == thread_id))

    def next_task_number(self, thread_id: str) -> int:
        """Return the number of a new task; no number is ever given twice."""
        inserted = self._run(insert(task_number).returning(task_number.c.number), {"thread_id": thread_id})
        return int(inserted.scalar_one())

    def overlaps(self, about_id: str, start_ms: int, end_ms: int, except_id: str) -> bool:
        """Return whether another announcement about the asset is active at any time between the two."""
        query = select(_THREAD.id).where(
            _THREAD.about_id == about_id,
            _THREAD.kind == ThreadType.ANNOUNCEMENT.value,
            _THREAD.id != except_id,
            _THREAD.start_ms < end_ms,
            _THREAD.end_ms > start_ms,
        )
        return self._run(query.limit(1)).first() is not None

    def post(self, thread_id: str, post_id: str) -> Document | None:
        """Return a post of a thread."""
        query = select(_POST.document).where(_POST.id == post_id, _POST.thread_id == thread_id)
        text = self._run(query).scalar_one_or_none()
        return None if text is None else from_text(text)

    def latest_posts(self, thread_id: str, limit: int) -> list[Document]:
        """Return the latest posts of a thread, oldest first."""
        query = select(_POST.document).where(_POST.thread_id == thread_id)
        latest = query.order_by(_POST.posted_at_ms.desc(), _POST.id.desc()).limit(limit)
        return [from_text(text) for text in reversed(self._run(latest).scalars().all())]

    def latest_posts_of(self, threads: Sequence[StoredThread], limit: int) -> dict[str, list[Document]]:
        """Return the latest posts of each of these threads, oldest first, by the thread's id."""
        posts: dict[str, list[Document]] = {one.id: [] for one in threads}
        age = func.row_number().over(
            partition_by=_POST.thread_id, order_by=(_POST.posted_at_ms.desc(), _POST.id.desc())
        )
        with_posts = [one.id for one in threads if one.document["postsCount"]] if limit else []
        for chunk in chunks_of(with_posts):
            with_age = select(_POST.thread_id, _POST.document, age.label("age")).where(_POST.thread_id.in_(chunk))
            by_age = with_age.subquery()
            latest = select(by_age.c.thread_id, by_age.c.document).where(by_age.c.age <= limit)
            for thread_id, text in self._run(latest.order_by(by_age.c.thread_id, by_age.c.age.desc())):
                posts[thread_id].append(from_text(text))
        return posts

    def author_of(self, thread_id: str, post_id: str) -> str | None:
        """Return the id of who wrote a post; None if they are deleted for good."""
        wrote = (_PART.thread_id == thread_id, _PART.place == post_id, _PART.part == ThreadPart.AUTHOR.value)
        return self._run(select(_PART.principal_id).where(*wrote)).scalar_one_or_none()

    def authors_of(self, posts: Mapping[str, Sequence[Document]]) -> dict[str, str]:
        """Return the ids of who wrote these posts, by post; people deleted for good are left out.

        ``posts`` are by the ids of their threads.
        """
        authors: dict[str, str] = {}
        for chunk in chunks_of((thread_id, one["id"]) for thread_id, many in posts.items() for one in many):
            thread_ids, post_ids = ({pair[end] for pair in chunk} for end in (0, 1))
            query = select(_PART.place, _PART.principal_id).where(_PART.part == ThreadPart.AUTHOR.value)
            query = query.where(_PART.thread_id.in_(sorted(thread_ids)), _PART.place.in_(sorted(post_ids)))
            authors.update((place, author_id) for place, author_id in self._run(query))
        return authors

    def put_post(self, thread_id: str, post: Document) -> None:
        """Add a post, or replace the one of its id."""
        replacement = update(thread_post).where(_POST.id == post["id"]).values(document=to_text(post))
        if self._run(replacement).rowcount == 0:
            row = {"id": post["id"], "thread_id": thread_id, "posted_at_ms": post["postTs"], "document": to_text(post)}
            self._run(insert(thread_post), row)

    def erase_post(self, thread_id: str, post_id: str) -> None:
        """Remove a post and whom it mentions; whom it mentioned is remembered."""
        self._remember(thread_id, _PART.place == post_id)
        self._run(delete(thread_part).where(_PART.thread_id == thread_id, _PART.place == post_id))
        self._run(delete(thread_post).where(_POST.id == post_id))

    def parts(self, thread_id: str, part: ThreadPart, place: str) -> list[PartTaken]:
        """Return those who have this part at this place."""
        at_place = (_PART.thread_id == thread_id, _PART.part == part.value, _PART.place == place)
        query = select(_PART.principal_id, _PART.principal_type).where(*at_place)
        return [PartTaken(part, principal_id, kind, place) for principal_id, kind in self._run(query)]

    def set_parts(self, thread_id: str, part: ThreadPart, place: str, participants: Sequence[PartTaken]) -> None:
        """Make these, and no others, those who have this part at this place; who had it already keeps their place."""
        at_place = (_PART.thread_id == thread_id, _PART.part == part.value, _PART.place == place)
        before = set(self._run(select(_PART.principal_id).where(*at_place)).scalars())
        after = {one.principal_id: one for one in participants}
        if leaving := before - after.keys():
            leaving_parts = (*at_place, _PART.principal_id.in_(sorted(leaving)))
            self._remember(thread_id, *leaving_parts[1:])
            self._run(delete(thread_part).where(*leaving_parts))
        if new := sorted(after.keys() - before):
            self._run(insert(thread_part), [_part_row(thread_id, after[one]) for one in new])

    def _remember(self, thread_id: str, *which: ColumnElement[bool]) -> None:
        """Keep who has a part in a thread until now, for readers of earlier events; ``place_parts`` says until when."""
        leaving_parts = _KEPT.where(_PART.thread_id == thread_id, _PART.at_offset > 0, *which)
        columns = [column.name for column in leaving_parts.selected_columns]
        self._run(insert(tombstone_part).from_select([*columns, "log_offset"], leaving_parts.add_columns(literal(0))))

    def teams_of(self, user_id: str) -> frozenset[str]:
        """Return the ids of the teams a user is in, and of all above those."""
        team_ids: set[str] = set()
        frontier = {user_id}
        while frontier:
            query = select(membership.c.team_id).where(membership.c.member_id.in_(sorted(frontier)))
            frontier = set(self._run(query).scalars()) - team_ids
            team_ids |= frontier
        return frozenset(team_ids)


def place_parts(connection: Connection, thread_id: str, log_offset: int) -> None:
    """Record the event of a thread at which participants joined in this transaction, and before which others left."""
    new = update(thread_part).where(_PART.thread_id == thread_id, _PART.at_offset == 0)
    connection.execute(new.values(at_offset=log_offset))
    departures = update(tombstone_part).where(_GONE.thread_id == thread_id, _GONE.log_offset == 0)
    connection.execute(departures.values(log_offset=log_offset - 1))


def erase_about(connection: Connection, entity_ids: Collection[str]) -> None:
    """Remove every thread about entities that are erased, and every part that they, as users or teams, had."""
    threads = select(_THREAD.id, _THREAD.about_id)
    thread_ids = {row.id for row in rows_by_key(connection, threads, _THREAD.about_id, entity_ids)}
    for column in (*(table.c.thread_id for table in _BELOW), _THREAD.id) if thread_ids else ():
        delete_by_key(connection, column, thread_ids)
    delete_by_key(connection, _PART.principal_id, entity_ids)


def parts_about(connection: Connection, entity_ids: Collection[str]) -> dict[str, list[dict[str, object]]]:
    """Return who has a part in the threads about entities, as rows of ``tombstone_part`` without the offset."""
    parts: dict[str, list[dict[str, object]]] = defaultdict(list)
    for row in rows_by_key(connection, _KEPT, _THREAD.about_id, entity_ids):
        parts[row.about_id].append(dict(row._mapping))
    return parts


def keep_parts(connection: Connection, log_offset: int, parts: Sequence[dict[str, object]]) -> None:
    """Store the participants of the threads of an entity whose deletion has that offset in the log."""
    if parts:
        connection.execute(insert(tombstone_part), [{"log_offset": log_offset, **one} for one in parts])


def thread_of(row: Any) -> StoredThread:  # Any: SQLAlchemy's row
    """Return a thread from ``THREAD_COLUMNS``."""
    return StoredThread(
        row.id, row.about_type, row.about_id, steps_of(row.steps), row.created_by_id, from_text(row.document)
    )


def _row(stored_thread: StoredThread) -> documents.Row:
    announcement = stored_thread.document.get("announcement") or {}
    return {
        "id": stored_thread.id,
        "kind": stored_thread.kind,
        "about_id": stored_thread.about_id,
        "about_type": stored_thread.about_type,
        "steps": join_steps(stored_thread.steps),
        "created_by_id": stored_thread.created_by_id,
        "task_status": stored_thread.task.get("status"),
        "start_ms": announcement.get("startTime"),
        "end_ms": announcement.get("endTime"),
        "resolved": stored_thread.document["resolved"],
        "updated_at_ms": stored_thread.document["updatedAt"],
        "document": to_text(stored_thread.document),
        "name": (stored_thread.document.get(FACTS) or {}).get("name") if announcement else None,
        "is_announced": not is_to_begin(stored_thread),
        **_task_row(stored_thread),
    }


def _task_row(stored_thread: StoredThread) -> documents.Row:
    """Return what OpenMetadata 2 says of a task, to find it by."""
    document = stored_thread.document
    if stored_thread.kind != ThreadType.TASK:
        return {}
    return {
        "task_type": task_type_of(document),
        "task_state": state_of(document).value,
        "task_priority": priority_of(document),
    }


def _part_row(thread_id: str, participant: PartTaken) -> documents.Row:
    return {"thread_id": thread_id, **vars(participant), "part": participant.part.value}
