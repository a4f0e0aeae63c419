"""Write operations on threads, each in one transaction: thread, posts and change event.

They share the entry point of entity writes (``flow/capture/operations.py``): resolving a task writes its asset in
the same transaction. Next: ``store/catalogue/feed/rows.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tocsin.catalogue.feed import events, people, requests, rights, tasks
from tocsin.errors import Conflict, InvalidInput, NotFound
from tocsin.flow.capture import json_patch
from tocsin.flow.capture.operations import EntityWrites
from tocsin.flow.capture.ports import Hold, ThreadRows
from tocsin.flow.capture.redaction import Redaction, hidden_references
from tocsin.flow.capture.write import Record
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange, describe
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key, Stored, Written, not_found
from tocsin.model.thread import StoredThread, TaskStatus, ThreadType

_OPEN = frozenset({"message", "reactions", "resolved"})
_OPEN_BESIDES: dict[str, frozenset[str]] = {
    ThreadType.TASK: frozenset({"task"}),
    ThreadType.ANNOUNCEMENT: frozenset({"announcement"}),
}


class FeedWrites:
    """Every write on threads; each method is one transaction and returns its result."""

    def __init__(self, writes: EntityWrites) -> None:
        self._writes = writes

    def create(self, request: Document, *, actor: Actor) -> Written:
        """Begin a thread.

        Raises
        ------
        NotFound : what it is about, or an assignee, does not exist.
        InvalidInput : the request is malformed, or an announcement overlaps another one of the asset.
        """
        return self._writes.within(lambda record: _create(record, request), actor=actor)

    def create_once(self, thread_id: str, request: Document, *, actor: Actor) -> Written | None:
        """Begin the thread of this id; None if it has been begun. Raises as ``create``."""

        def work(record: Record) -> Written | None:
            is_begun = record.transaction.threads.find(thread_id) is not None
            return None if is_begun else _create(record, request, thread_id)

        return self._writes.within(work, actor=actor)

    def reply(self, thread_id: str, request: Document, *, actor: Actor) -> Written:
        """Add a post to a thread; ``document`` is the thread."""

        def work(record: Record) -> Written:
            thread, asset = _find_thread(record, thread_id)
            post = _post(record, requests.asked_post(request))
            stamped_thread = _with_post(record, thread, post)
            return _with_event(record, EventType.POST_CREATED, (stamped_thread, asset), describe("posts", new=[post]))

        return self._writes.within(work, actor=actor)

    def patch(self, thread_id: str, operations: Sequence[json_patch.PatchOperation], *, actor: Actor) -> Written:
        """Apply a JSON Patch to a thread: its message, reactions, assignees, announcement, whether it is resolved.

        What else there is of a thread is fixed. A patch that changes nothing leaves nothing.
        """

        def work(record: Record) -> Written:
            thread, asset = _find_thread(record, thread_id)
            shown_thread = events.whole_thread(record, thread, asset)
            redaction = Redaction(record.ids.event())
            visible_thread = redaction.hide(
                shown_thread, hidden_references(shown_thread, record.permit, record.transaction)
            )
            patched_thread = redaction.restore(json_patch.apply_to_copy(visible_thread, operations, record.bounds))
            requests.check_unchanged(shown_thread, patched_thread, _OPEN | _OPEN_BESIDES.get(thread.kind, frozenset()))
            document = _edited_thread(record, thread, asset, patched_thread)
            changes = events.thread_changes(thread.document, document)
            if changes.is_empty():
                return Written(shown_thread, None)
            stamped_thread = _keep(record, replace(thread, document=document))
            people.set_of_thread(record, stamped_thread, thread.document)
            return _with_event(record, EventType.THREAD_UPDATED, (stamped_thread, asset), changes)

        return self._writes.within(work, actor=actor)

    def patch_post(
        self, thread_id: str, post_id: str, operations: Sequence[json_patch.PatchOperation], *, actor: Actor
    ) -> Written:
        """Apply a JSON Patch to a post: its message (only its author may), or one's own reactions to it.

        ``document`` is the post.
        """

        def work(record: Record) -> Written:
            thread, asset = _find_thread(record, thread_id)
            old = _found_post(record, thread, post_id)
            post = _edited_post(record, thread, old, json_patch.apply_to_copy(old, operations, record.bounds))
            changes = events.post_changes(old, post)
            if changes.is_empty():
                return Written(old, None)
            record.transaction.threads.put_post(thread.id, post)
            people.set_mentions(record, thread.id, (post["message"],), (old["message"],), place=post_id)
            stamped_thread = _keep(record, thread)
            change = _with_event(record, EventType.POST_UPDATED, (stamped_thread, asset), changes)
            return replace(change, document=post)

        return self._writes.within(work, actor=actor)

    def delete(self, thread_id: str, *, actor: Actor) -> Written:
        """Delete a thread and its posts for good; only who began it and administrators may."""

        def work(record: Record) -> Written:
            thread, asset = _find_thread(record, thread_id)
            rights.check_remover(actor, thread.created_by_id, "a thread")
            change = _with_event(record, EventType.ENTITY_DELETED, (thread, asset), ChangeDescription())
            record.transaction.threads.erase(thread.id)
            return change

        return self._writes.within(work, actor=actor)

    def delete_post(self, thread_id: str, post_id: str, *, actor: Actor) -> Written:
        """Delete a post; only who wrote it and administrators may. ``document`` is the post."""

        def work(record: Record) -> Written:
            thread, asset = _find_thread(record, thread_id)
            post = _found_post(record, thread, post_id)
            rights.check_remover(actor, record.transaction.threads.author_of(thread.id, post_id), "a post")
            record.transaction.threads.erase_post(thread.id, post_id)
            stamped_thread = _keep(record, _with_post_count(thread, -1))
            described = describe("posts", old=[post])
            change = _with_event(record, EventType.THREAD_UPDATED, (stamped_thread, asset), described)
            return replace(change, document=post)

        return self._writes.within(work, actor=actor)

    def resolve(self, thread_id: str, request: Document, *, actor: Actor) -> Written:
        """Resolve a task by writing the requested value to the asset; ``cascaded`` holds the asset's own event.

        Raises
        ------
        Conflict : it is closed already.
        Forbidden : the actor takes no part in the task.
        """

        def work(record: Record) -> Written:
            thread, asset = _task(record, thread_id, "resolve the task", Hold.CHANGE)
            valid_keys = ("newValue", "testCaseFQN", "testCaseFailureReason")
            value = requests.asked_text(request, "newValue", valid_keys)
            cascaded = tasks.carry_out(record, thread, asset, value)
            ended = _Ended({"newValue": value}, f"Resolved the task with: {value}", EventType.TASK_RESOLVED)
            return replace(_end(record, thread, asset, ended), cascaded=(cascaded,) if cascaded else ())

        return self._writes.within(work, actor=actor)

    def close(self, thread_id: str, request: Document, *, actor: Actor) -> Written:
        """Close a task without changing the asset, with a comment that gives the reason. Raises as ``resolve``."""

        def work(record: Record) -> Written:
            thread, asset = _task(record, thread_id, "close the task")
            comment = requests.asked_text(request, "comment", ("comment", "testCaseFQN"))
            ended = _Ended({}, f"Closed the task with comment: {comment}", EventType.TASK_CLOSED)
            return _end(record, thread, asset, ended)

        return self._writes.within(work, actor=actor)


@dataclass(frozen=True)
class _Ended:
    """Result of ending a task: its updated details, the post that reports it, and its event."""

    details: Document
    message: str
    event_type: EventType


def _create(record: Record, request: Document, thread_id: str | None = None) -> Written:
    document = requests.asked_thread(request)
    link = parse_link(request.get("about"), "about")
    hold = Hold.CHANGE if document["type"] == ThreadType.ANNOUNCEMENT else Hold.SHARED
    asset = _asset(record, link.entity_type, Key.by_name(link.fqn), hold)
    if asset.is_deleted:
        raise NotFound(f"{asset.entity_type} {asset.fqn} is deleted")
    thread_id = thread_id or record.ids.entity()
    origin = "system" if record.actor == SYSTEM else "user"
    stamps = {"id": thread_id, "threadTs": record.at_ms, "createdBy": record.actor.name, "generatedBy": origin}
    thread = StoredThread(thread_id, asset.entity_type, asset.id, link.steps, record.actor.id, document | stamps)
    thread.document.update(_address_fields(request, asset), postsCount=0)
    _check_kind(record, thread, asset)
    stamped_thread = _keep(record, thread, is_new=True)
    people.set_author(record, stamped_thread.id)
    people.set_of_thread(record, stamped_thread)
    changes = events.thread_changes({}, {**stamped_thread.document, "resolved": None})
    return replace(_with_event(record, EventType.THREAD_CREATED, (stamped_thread, asset), changes), created=True)


def _address_fields(request: Document, asset: Stored) -> Document:
    link = request.get("addressedTo")
    to = {} if link is None else {"addressedTo": str(parse_link(link, "addressedTo"))}
    domains = [one["id"] for one in asset.document.get("domains") or () if "id" in one]
    return {**to, **({"domains": domains} if domains else {})}


def _check_kind(record: Record, thread: StoredThread, asset: Stored) -> None:
    """Check the subject of the thread; check and complete the details of a task or an announcement."""
    tasks.check_member(asset, thread.steps)
    if thread.kind == ThreadType.TASK:
        tasks.check_target(thread.task["type"], asset, thread.steps)
        if record.actor.is_bot:
            raise InvalidInput("tasks can be created by people only, not by bots", field="type")
        thread.task["assignees"] = people.assignees(record, thread.task["assignees"])
        thread.task["id"] = record.transaction.threads.next_task_number(thread.id)
    elif thread.kind == ThreadType.ANNOUNCEMENT:
        _check_overlap(record, thread, thread.document["announcement"])


def _check_overlap(record: Record, thread: StoredThread, announcement: Document) -> None:
    start, end = announcement["startTime"], announcement["endTime"]
    if record.transaction.threads.overlaps(thread.about_id, start, end, thread.id):
        raise InvalidInput("another announcement of this asset overlaps with this period", field="announcementDetails")


def _edited_thread(record: Record, thread: StoredThread, asset: Stored, patched_thread: Document) -> Document:
    """Return the thread's document with what a patch may change, if the actor may change it."""
    actor, old = record.actor, thread.document
    document = dict(old)
    if patched_thread.get("message") != old["message"]:
        rights.check_author(actor, thread.created_by_id, "a message")
        document["message"] = requests.asked_message(patched_thread)
    document["reactions"] = _reactions(record, old, patched_thread)
    document["resolved"] = patched_thread.get("resolved") is True
    if thread.kind == ThreadType.TASK:
        document["task"] = old["task"] | {
            "assignees": _patched_assignees(record, old["task"], patched_thread.get("task"))
        }
    if thread.kind == ThreadType.ANNOUNCEMENT:
        record.transaction.find(asset.entity_type, Key.by_id(asset.id))  # held: no other announcement meanwhile
        document["announcement"] = requests.checked_announcement(patched_thread.get("announcement"))
        _check_overlap(record, thread, document["announcement"])
    decision_keys = ("resolved", "task", "announcement")
    if any(document.get(key) != old.get(key) for key in decision_keys):
        rights.check_concerned(record, thread, asset, "change this thread")
    if thread.kind == ThreadType.TASK and document["task"] != old["task"]:
        requests.check_assignees(document["task"]["assignees"])
    return document


def _patched_assignees(record: Record, old: Document, patched_task: object) -> list[Document]:
    references = requests.checked_assignees(patched_task.get("assignees") if isinstance(patched_task, dict) else None)
    before: list[Document] = old["assignees"]
    if {one.get("id") for one in references} == {one["id"] for one in before}:
        return before
    if old["status"] != TaskStatus.OPEN:
        raise Conflict(f"task {old['id']} is closed")
    return people.assignees(record, references)


def _edited_post(record: Record, thread: StoredThread, old: Document, patched_post: Document) -> Document:
    post = dict(old)
    if patched_post.get("message") != old["message"]:
        rights.check_author(record.actor, record.transaction.threads.author_of(thread.id, old["id"]), "a post")
        post["message"] = requests.asked_message(patched_post)
    post["reactions"] = _reactions(record, old, patched_post)
    return post


def _reactions(record: Record, old: Document, patched: Document) -> list[Document]:
    reactions = requests.checked_reactions(patched.get("reactions") or [])
    rights.check_reactions(record.actor, old.get("reactions"), reactions)
    return people.reactions_with_people(record, old.get("reactions") or [], reactions)


def _task(record: Record, thread_id: str, action: str, hold: Hold = Hold.SHARED) -> tuple[StoredThread, Stored]:
    thread, asset = _find_thread(record, thread_id, hold)
    if thread.kind != ThreadType.TASK:
        raise InvalidInput("this thread is not a task")
    rights.check_concerned(record, thread, asset, action)
    if thread.task["status"] != TaskStatus.OPEN:
        raise Conflict(f"task {thread.task['id']} is closed")
    if asset.is_deleted:
        raise Conflict(f"{asset.entity_type} {asset.fqn} is deleted")
    return thread, asset


def _end(record: Record, thread: StoredThread, asset: Stored, ended: _Ended) -> Written:
    closed = {"status": TaskStatus.CLOSED.value, "closedBy": record.actor.name, "closedAt": record.at_ms}
    document = thread.document | {"task": thread.task | ended.details | closed}
    post = _post(record, ended.message)
    stamped_thread = _with_post(record, replace(thread, document=document), post)
    post_change = FieldChange(name="posts", new_value=[post])
    described = events.thread_changes(thread.document, document).with_changes(post_change)
    return _with_event(record, ended.event_type, (stamped_thread, asset), described)


def _post(record: Record, message: str) -> Document:
    return {
        "id": record.ids.event(),
        "message": message,
        "postTs": record.at_ms,
        "from": record.actor.name,
        "reactions": [],
    }


def _with_post(record: Record, thread: StoredThread, post: Document) -> StoredThread:
    record.transaction.threads.put_post(thread.id, post)
    people.set_author(record, thread.id, place=post["id"])
    people.set_mentions(record, thread.id, (post["message"],), place=post["id"])
    return _keep(record, _with_post_count(thread, 1))


def _with_post_count(thread: StoredThread, difference: int) -> StoredThread:
    return replace(thread, document=thread.document | {"postsCount": thread.document["postsCount"] + difference})


def _keep(record: Record, thread: StoredThread, *, is_new: bool = False) -> StoredThread:
    stamps = {"updatedAt": record.at_ms, "updatedBy": record.actor.name}
    stamped_thread = replace(thread, document=thread.document | stamps)
    threads: ThreadRows = record.transaction.threads
    write: Callable[[StoredThread], None] = threads.insert if is_new else threads.update
    write(stamped_thread)
    return stamped_thread


def _with_event(
    record: Record, event_type: EventType, about: tuple[StoredThread, Stored], described: ChangeDescription
) -> Written:
    thread, asset = about
    event: ChangeEvent = events.append_event(record, event_type, thread, asset, described)
    return Written(event.entity or {}, event)


def _find_thread(record: Record, thread_id: str, hold: Hold = Hold.SHARED) -> tuple[StoredThread, Stored]:
    thread = record.transaction.threads.find(thread_id)
    if thread is None:
        raise NotFound(f"thread {thread_id} not found")
    return thread, _asset(record, thread.about_type, Key.by_id(thread.about_id), hold)


def _asset(record: Record, entity_type: str, key: Key, hold: Hold) -> Stored:
    entity = record.transaction.find(entity_type, key, hold) if entity_type in ENTITY_TYPES else None
    if entity is None:
        raise not_found(entity_type, key)
    return record.visible(entity)


def _found_post(record: Record, thread: StoredThread, post_id: str) -> Document:
    post = record.transaction.threads.post(thread.id, post_id)
    if post is None:
        raise NotFound(f"post {post_id} not found")
    return post
