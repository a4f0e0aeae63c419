"""Write operations on threads, each in one transaction: thread, posts and change event.

They share the entry point of entity writes (``flow/capture/operations.py``): resolving a task writes its asset in
the same transaction. Next: ``store/catalogue/feed/rows.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tocsin.catalogue.feed import approvals, events, people, requests, rights, tasks
from tocsin.catalogue.feed.announcement_requests import AnnouncementRequest
from tocsin.catalogue.feed.people import OwnReaction, with_reaction
from tocsin.catalogue.feed.thread_writes import (
    NewThread,
    TaskEnd,
    add_post,
    announce,
    begin_thread,
    check_overlap,
    end_task,
    find_asset,
    find_open_task,
    find_post,
    find_thread,
    keep,
    post_of,
    with_event,
    with_post_count,
)
from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.capture import json_patch
from tocsin.flow.capture.operations import EntityWrites
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.redaction import Redaction, hidden_references
from tocsin.flow.capture.write import Record
from tocsin.model.announced_thread import facts_when_moved
from tocsin.model.change import ChangeDescription, EventType, describe
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key, Stored, Written
from tocsin.model.task import REJECT
from tocsin.model.thread import FACTS, StoredThread, TaskStatus, ThreadType

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

    def create_announcement(self, request: AnnouncementRequest, *, actor: Actor) -> Written:
        """Begin an announcement of 2.x; followers hear of it when it begins. Raises as ``create``."""

        def work(record: Record) -> Written:
            asset = find_asset(record, request.link.entity_type, Key.by_name(request.link.fqn), Hold.CHANGE)
            if request.name is not None and record.transaction.threads.is_name_taken(request.name):
                raise Conflict(f"announcement {request.name} already exists")
            return begin_thread(record, NewThread(request.document, request.link.steps), asset)

        return self._writes.within(work, actor=actor)

    def announce(self, thread_id: str) -> bool:
        """Tell of an announcement whose start has come; return whether it was told of now: it is once."""
        return self._writes.within(lambda record: announce(record, thread_id), actor=SYSTEM) is not None

    def reply(self, thread_id: str, request: Document, *, actor: Actor) -> Written:
        """Add a post to a thread; ``document`` is the thread."""

        def work(record: Record) -> Written:
            about = find_thread(record, thread_id)
            return add_post(record, about, post_of(record, requests.asked_post(request)))

        return self._writes.within(work, actor=actor)

    def add_reply(self, thread_id: str, request: Document, *, actor: Actor) -> Written:
        """Add a post to a thread; ``document`` is the post."""

        def work(record: Record) -> Written:
            about = find_thread(record, thread_id)
            post = post_of(record, requests.asked_post(request))
            return replace(add_post(record, about, post), document=post)

        return self._writes.within(work, actor=actor)

    def react(self, thread_id: str, reaction: OwnReaction, *, actor: Actor) -> Written:
        """Add or take back the actor's reaction to a thread or post; one that is so already leaves nothing."""

        def work(record: Record) -> Written:
            thread, asset = find_thread(record, thread_id)
            if reaction.post_id is None:
                return _change_thread(record, (thread, asset), with_reaction(record, thread.document, reaction))
            old = find_post(record, thread, reaction.post_id)
            return _change_post(record, (thread, asset), old, with_reaction(record, old, reaction))

        return self._writes.within(work, actor=actor)

    def patch(self, thread_id: str, operations: Sequence[json_patch.PatchOperation], *, actor: Actor) -> Written:
        """Apply a JSON Patch to a thread: its message, reactions, assignees, announcement, whether it is resolved.

        What else there is of a thread is fixed. A patch that changes nothing leaves nothing.
        """

        def work(record: Record) -> Written:
            thread, asset = find_thread(record, thread_id)
            shown_thread = events.whole_thread(record, thread, asset)
            redaction = Redaction(record.ids.event())
            visible_thread = redaction.hide(
                shown_thread, hidden_references(shown_thread, record.permit, record.transaction)
            )
            patched_thread = redaction.restore(json_patch.apply_to_copy(visible_thread, operations, record.bounds))
            requests.check_unchanged(shown_thread, patched_thread, _OPEN | _OPEN_BESIDES.get(thread.kind, frozenset()))
            return _change_thread(record, (thread, asset), _edited_thread(record, thread, asset, patched_thread))

        return self._writes.within(work, actor=actor)

    def patch_post(
        self, thread_id: str, post_id: str, operations: Sequence[json_patch.PatchOperation], *, actor: Actor
    ) -> Written:
        """Apply a JSON Patch to a post: its message (only its author may), or one's own reactions to it.

        ``document`` is the post.
        """

        def work(record: Record) -> Written:
            thread, asset = find_thread(record, thread_id)
            old = find_post(record, thread, post_id)
            post = _edited_post(record, thread, old, json_patch.apply_to_copy(old, operations, record.bounds))
            return _change_post(record, (thread, asset), old, post)

        return self._writes.within(work, actor=actor)

    def delete(self, thread_id: str, *, actor: Actor) -> Written:
        """Delete a thread and its posts for good; only who began it and administrators may."""

        def work(record: Record) -> Written:
            thread, asset = find_thread(record, thread_id)
            rights.check_remover(actor, thread.created_by_id, "a thread")
            approvals.check_kept(thread)
            change = with_event(record, EventType.ENTITY_DELETED, (thread, asset), ChangeDescription())
            record.transaction.threads.erase(thread.id)
            return change

        return self._writes.within(work, actor=actor)

    def delete_post(self, thread_id: str, post_id: str, *, actor: Actor) -> Written:
        """Delete a post; only who wrote it and administrators may. ``document`` is the post."""

        def work(record: Record) -> Written:
            thread, asset = find_thread(record, thread_id)
            post = find_post(record, thread, post_id)
            rights.check_remover(actor, record.transaction.threads.author_of(thread.id, post_id), "a post")
            record.transaction.threads.erase_post(thread.id, post_id)
            stamped_thread = keep(record, with_post_count(thread, -1))
            described = describe("posts", old=[post])
            change = with_event(record, EventType.THREAD_UPDATED, (stamped_thread, asset), described)
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
            thread, asset = find_open_task(record, thread_id, "resolve the task", Hold.CHANGE)
            valid_keys = ("newValue", "testCaseFQN", "testCaseFailureReason")
            value = requests.asked_text(request, "newValue", valid_keys)
            if approvals.is_approval(thread):
                return approvals.decide_approval(record, thread, asset, approvals.transition_of_1(value), None)
            cascaded = tasks.carry_out(record, thread, asset, value)
            ended = TaskEnd({"newValue": value}, f"Resolved the task with: {value}", EventType.TASK_RESOLVED)
            return replace(end_task(record, thread, asset, ended), cascaded=(cascaded,) if cascaded else ())

        return self._writes.within(work, actor=actor)

    def close(self, thread_id: str, request: Document, *, actor: Actor) -> Written:
        """Close a task without changing the asset, with a comment that gives the reason. Raises as ``resolve``."""

        def work(record: Record) -> Written:
            thread, asset = find_open_task(record, thread_id, "close the task", Hold.CHANGE)
            comment = requests.asked_text(request, "comment", ("comment", "testCaseFQN"))
            if approvals.is_approval(thread):
                return approvals.decide_approval(record, thread, asset, REJECT, comment)
            ended = TaskEnd({}, f"Closed the task with comment: {comment}", EventType.TASK_CLOSED)
            return end_task(record, thread, asset, ended)

        return self._writes.within(work, actor=actor)


def _create(record: Record, request: Document, thread_id: str | None = None) -> Written:
    document = requests.asked_thread(request)
    link = parse_link(request.get("about"), "about")
    if document["type"] == ThreadType.TASK and record.actor.is_bot:
        raise InvalidInput("tasks can be created by people only, not by bots", field="type")
    hold = Hold.CHANGE if document["type"] == ThreadType.ANNOUNCEMENT else Hold.SHARED
    asset = find_asset(record, link.entity_type, Key.by_name(link.fqn), hold)
    if request.get("addressedTo") is not None:
        document["addressedTo"] = str(parse_link(request["addressedTo"], "addressedTo"))
    return begin_thread(record, NewThread(document, link.steps, thread_id), asset)


def _change_thread(record: Record, about: tuple[StoredThread, Stored], document: Document) -> Written:
    """Make this the document of a thread, with its event; what changes nothing leaves nothing."""
    thread, asset = about
    changes = events.thread_changes(thread.document, document)
    if changes.is_empty():
        return Written(events.whole_thread(record, thread, asset), None)
    stamped_thread = keep(record, replace(thread, document=document))
    people.set_of_thread(record, stamped_thread, thread.document)
    return with_event(record, EventType.THREAD_UPDATED, (stamped_thread, asset), changes)


def _change_post(record: Record, about: tuple[StoredThread, Stored], old: Document, post: Document) -> Written:
    """Replace a post of a thread, with its event; what changes nothing leaves nothing. ``document`` is the post."""
    thread, asset = about
    changes = events.post_changes(old, post)
    if changes.is_empty():
        return Written(old, None)
    record.transaction.threads.put_post(thread.id, post)
    people.set_mentions(record, thread.id, (post["message"],), (old["message"],), place=post["id"])
    change = with_event(record, EventType.POST_UPDATED, (keep(record, thread), asset), changes)
    return replace(change, document=post)


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
        if document["task"] != old["task"]:
            approvals.check_kept(thread)
    if thread.kind == ThreadType.ANNOUNCEMENT:
        record.transaction.find(asset.entity_type, Key.by_id(asset.id))  # held: no other announcement meanwhile
        document["announcement"] = requests.checked_announcement(patched_thread.get("announcement"))
        check_overlap(record, thread, document["announcement"])
        if FACTS in old and document["announcement"] != old["announcement"]:
            document[FACTS] = facts_when_moved(old[FACTS], document["announcement"], record.at_ms)
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
