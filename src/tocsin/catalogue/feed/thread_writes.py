"""Steps that the write operations on threads share: find, begin, answer and end one, and write its event.

Next: ``store/catalogue/feed/rows.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tocsin.catalogue.feed import events, people, rights, tasks
from tocsin.errors import Conflict, InvalidInput, NotFound
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.thread_ports import ThreadRows
from tocsin.flow.capture.write import Record
from tocsin.model.announced_thread import IS_ANNOUNCED, facts_until_told, is_to_begin, is_unannounced
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange, describe
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Stored, Written, not_found
from tocsin.model.task import GLOSSARY_APPROVAL, TaskState, task_type_of
from tocsin.model.thread import FACTS, StoredThread, TaskStatus, ThreadType

_RESOLVED_STATES = (TaskState.APPROVED, TaskState.COMPLETED)


@dataclass(frozen=True)
class TaskEnd:
    """Result of ending a task: its updated details, the post that reports it, its event, and what 2.x says of it."""

    details: Document
    message: str
    event_type: EventType
    facts: Document = field(default_factory=dict)


def task_end_of(state: TaskState, comment: str | None, details: Document, *, subject: str = "the task") -> TaskEnd:
    """Return how a task ends in a state of 2.x, with a comment if there is one; else its post names the ``subject``."""
    event_type = EventType.TASK_RESOLVED if state in _RESOLVED_STATES else EventType.TASK_CLOSED
    facts = {"state": state.value, **({"comment": comment} if comment else {})}
    return TaskEnd(details, f"{state}: {comment}" if comment else f"{state} {subject}.", event_type, facts)


@dataclass(frozen=True)
class NewThread:
    """A thread to begin: its own document, to what part of its asset it leads, and its id if that is decided."""

    document: Document
    steps: tuple[str, ...] = ()
    id: str | None = None


def begin_thread(record: Record, new: NewThread, asset: Stored) -> Written:
    """Begin a thread about an asset.

    Raises
    ------
    NotFound : the asset is deleted, or there is no such assignee
    InvalidInput : the link leads nowhere, or an announcement overlaps another one of the asset
    """
    if asset.is_deleted:
        raise NotFound(f"{asset.entity_type} {asset.fqn} is deleted")
    thread_id = new.id or record.ids.entity()
    origin = "system" if record.actor == SYSTEM else "user"
    stamps = {"id": thread_id, "threadTs": record.at_ms, "createdBy": record.actor.name, "generatedBy": origin}
    document = new.document | stamps | _domains_of(asset) | {"postsCount": 0}
    thread = StoredThread(thread_id, asset.entity_type, asset.id, new.steps, record.actor.id, document)
    _check_kind(record, thread, asset)
    is_announcement = thread.kind == ThreadType.ANNOUNCEMENT
    if is_announcement and (facts := facts_until_told(thread.document["announcement"], record.at_ms)):
        thread.document[FACTS] = thread.document.get(FACTS, {}) | facts
    stamped_thread = keep(record, thread, is_new=True)
    people.set_author(record, stamped_thread.id)
    people.set_of_thread(record, stamped_thread)
    changes = events.thread_changes({}, {**stamped_thread.document, "resolved": None})
    return replace(with_event(record, EventType.THREAD_CREATED, (stamped_thread, asset), changes), created=True)


def _domains_of(asset: Stored) -> Document:
    domains = [one["id"] for one in asset.document.get("domains") or () if "id" in one]
    return {"domains": domains} if domains else {}


def _check_kind(record: Record, thread: StoredThread, asset: Stored) -> None:
    """Check the subject of the thread; check and complete the details of a task or an announcement."""
    tasks.check_member(asset, thread.steps)
    if thread.kind == ThreadType.TASK:
        tasks.check_target(thread.task["type"], asset, thread.steps)
        if task_type_of(thread.document) != GLOSSARY_APPROVAL:  # its reviewers are checked where they are named
            thread.task["assignees"] = people.assignees(record, thread.task["assignees"])
        thread.task["id"] = record.transaction.threads.next_task_number(thread.id)
    elif thread.kind == ThreadType.ANNOUNCEMENT:
        check_overlap(record, thread, thread.document["announcement"])


def check_overlap(record: Record, thread: StoredThread, announcement: Document) -> None:
    """Refuse an announcement while another one of the asset is active.

    Raises
    ------
    InvalidInput : another one is
    """
    start, end = announcement["startTime"], announcement["endTime"]
    if record.transaction.threads.overlaps(thread.about_id, start, end, thread.id):
        raise InvalidInput("another announcement of this asset overlaps with this period", field="announcementDetails")


def find_open_task(
    record: Record, thread_id: str, action: str, hold: Hold = Hold.SHARED
) -> tuple[StoredThread, Stored]:
    """Return and hold an open task that concerns the actor, and its asset.

    Raises
    ------
    InvalidInput : the thread is no task
    Forbidden : the actor may not do this; ``action`` names it
    Conflict : the task is closed, or its asset deleted
    """
    thread, asset = find_thread(record, thread_id, hold)
    if thread.kind != ThreadType.TASK:
        raise InvalidInput("this thread is not a task")
    if task_type_of(thread.document) != GLOSSARY_APPROVAL:  # its reviewers decide: those of now
        rights.check_concerned(record, thread, asset, action)
    if thread.task["status"] != TaskStatus.OPEN:
        raise Conflict(f"task {thread.task['id']} is closed")
    if asset.is_deleted:
        raise Conflict(f"{asset.entity_type} {asset.fqn} is deleted")
    return thread, asset


def end_task(record: Record, thread: StoredThread, asset: Stored, ended: TaskEnd) -> Written:
    """Close a task, with a post that says so; return it with its event."""
    closed = {"status": TaskStatus.CLOSED.value, "closedBy": record.actor.name, "closedAt": record.at_ms}
    facts = thread.document.get(FACTS, {}) | {"resolvedById": record.actor.id, **ended.facts}
    document = thread.document | {"task": thread.task | ended.details | closed, FACTS: facts}
    post = post_of(record, ended.message)
    stamped_thread = with_post(record, replace(thread, document=document), post)
    post_change = FieldChange(name="posts", new_value=[post])
    described = events.thread_changes(thread.document, document).with_changes(post_change)
    return with_event(record, ended.event_type, (stamped_thread, asset), described)


def post_of(record: Record, message: str) -> Document:
    """Return a new post of the actor's."""
    return {
        "id": record.ids.event(),
        "message": message,
        "postTs": record.at_ms,
        "from": record.actor.name,
        "reactions": [],
    }


def with_post(record: Record, thread: StoredThread, post: Document) -> StoredThread:
    """Store a new post of a thread, and whom it mentions; return the thread as it is now."""
    record.transaction.threads.put_post(thread.id, post)
    people.set_author(record, thread.id, place=post["id"])
    people.set_mentions(record, thread.id, (post["message"],), place=post["id"])
    return keep(record, with_post_count(thread, 1))


def add_post(record: Record, about: tuple[StoredThread, Stored], post: Document) -> Written:
    """Add a new post to a thread, with its event."""
    thread, asset = about
    stamped_thread = with_post(record, thread, post)
    return with_event(record, EventType.POST_CREATED, (stamped_thread, asset), describe("posts", new=[post]))


def with_post_count(thread: StoredThread, difference: int) -> StoredThread:
    """Return a thread with so many posts more."""
    return replace(thread, document=thread.document | {"postsCount": thread.document["postsCount"] + difference})


def keep(record: Record, thread: StoredThread, *, is_new: bool = False) -> StoredThread:
    """Store a thread with who changed it, and when; return it so."""
    stamps = {"updatedAt": record.at_ms, "updatedBy": record.actor.name}
    stamped_thread = replace(thread, document=thread.document | stamps)
    threads: ThreadRows = record.transaction.threads
    write: Callable[[StoredThread], None] = threads.insert if is_new else threads.update
    write(stamped_thread)
    return stamped_thread


def with_event(
    record: Record, event_type: EventType, about: tuple[StoredThread, Stored], described: ChangeDescription
) -> Written:
    """Write the event of a thread and its asset; return the thread as it is shown, with the event.

    An announcement has none before it begins, and none if it was over when it was made, except of what people post.
    """
    thread, asset = about
    if is_unannounced(thread) and event_type is not EventType.POST_CREATED:
        return Written(events.whole_thread(record, thread, asset), None)
    event: ChangeEvent = events.append_event(record, event_type, thread, asset, described)
    return Written(event.entity or {}, event)


def announce(record: Record, thread_id: str) -> Written | None:
    """Write the event of an announcement whose start has come, as of who made it; None if it was written before."""
    thread = record.transaction.threads.find(thread_id)
    if thread is None or not is_to_begin(thread) or thread.document["announcement"]["startTime"] > record.at_ms:
        return None
    asset = record.transaction.find(thread.about_type, Key.by_id(thread.about_id), Hold.SHARED)
    if asset is None or asset.is_deleted:
        return None
    facts = {key: value for key, value in thread.document[FACTS].items() if key != IS_ANNOUNCED}
    announced_thread = replace(thread, document=thread.document | {FACTS: facts})
    record.transaction.threads.update(announced_thread)
    changes = events.thread_changes({}, {**announced_thread.document, "resolved": None})
    author = replace(record.actor, id=thread.created_by_id, name=thread.document["createdBy"])
    return with_event(replace(record, actor=author), EventType.THREAD_CREATED, (announced_thread, asset), changes)


def find_thread(record: Record, thread_id: str, hold: Hold = Hold.SHARED) -> tuple[StoredThread, Stored]:
    """Return and hold a thread and its asset, if the actor may see that.

    Raises
    ------
    NotFound : there is no such thread, or no such asset any more
    """
    thread = record.transaction.threads.find(thread_id)
    if thread is None:
        raise NotFound(f"thread {thread_id} not found")
    return thread, find_asset(record, thread.about_type, Key.by_id(thread.about_id), hold)


def find_asset(record: Record, entity_type: str, key: Key, hold: Hold) -> Stored:
    """Return and hold an asset that the actor may see.

    Raises
    ------
    NotFound : there is none
    """
    entity = record.transaction.find(entity_type, key, hold) if entity_type in ENTITY_TYPES else None
    if entity is None:
        raise not_found(entity_type, key)
    return record.visible(entity)


def find_post(record: Record, thread: StoredThread, post_id: str) -> Document:
    """Return a post of a thread.

    Raises
    ------
    NotFound : there is no such post
    """
    post = record.transaction.threads.post(thread.id, post_id)
    if post is None:
        raise NotFound(f"post {post_id} not found")
    return post
