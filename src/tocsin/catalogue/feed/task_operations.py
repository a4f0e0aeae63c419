"""Write operations on tasks as OpenMetadata 2 has them: create, comment, decide and change, each one transaction.

A task is a thread; what is done to it here is seen in ``/feed`` as well. Next: ``catalogue/feed/thread_writes.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tocsin.catalogue.feed import approvals, events, people, requests, rights, tasks
from tocsin.catalogue.feed.field_updates import carry_out_update, checked_proposal
from tocsin.catalogue.feed.task_requests import Decision, TaskRequest, checked_facts
from tocsin.catalogue.feed.thread_writes import (
    NewThread,
    add_post,
    begin_thread,
    end_task,
    find_asset,
    find_thread,
    keep,
    post_of,
    task_end_of,
    with_event,
    with_post,
)
from tocsin.errors import Conflict, Forbidden, InvalidInput, NotFound, TocsinError
from tocsin.flow.capture import json_patch
from tocsin.flow.capture.operations import EntityWrites
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.redaction import Redaction, hidden_references
from tocsin.flow.capture.references import key_of
from tocsin.flow.capture.write import Record
from tocsin.model.change import ChangeEvent, EventType, FieldChange
from tocsin.model.entity import Document
from tocsin.model.inheritance import with_asked
from tocsin.model.people import Actor
from tocsin.model.stored import Key, Stored, Written
from tocsin.model.suggestion import SUGGESTION
from tocsin.model.task import APPROVE, COMPLETE, REOPEN, Transition, transitions_of, value_key_of
from tocsin.model.thread import FACTS, StoredThread, TaskStatus, ThreadType

_EDITABLE = frozenset("displayName description priority assignees reviewers dueDate externalReference tags".split())
_OF_FACTS = ("displayName", "priority", "dueDate", "externalReference", "tags")
_MOST_REFUSED = 50
Value = Any  # Any: whatever JSON was sent


class TaskWrites:
    """Every write on tasks of 2.x; each method is one transaction, and its ``document`` is the thread."""

    def __init__(self, writes: EntityWrites) -> None:
        self._writes = writes

    def create(self, request: TaskRequest, *, actor: Actor) -> Written:
        """Begin a task; without assignees it is for the owners of the asset.

        Raises
        ------
        NotFound : what it is about, or an assignee, does not exist
        InvalidInput : nobody is assigned and nobody owns the asset, or the link leads nowhere
        """

        def work(record: Record) -> Written:
            asset = find_asset(record, request.link.entity_type, Key.by_name(request.link.fqn), Hold.SHARED)
            return begin_thread(record, NewThread(_document_of(record, request, asset), request.link.steps), asset)

        return self._writes.within(work, actor=actor)

    def comment(self, thread_id: str, message: str, *, actor: Actor) -> Written:
        """Add a comment to a task, open or closed."""

        def work(record: Record) -> Written:
            return add_post(record, _find_task(record, thread_id), post_of(record, message))

        return self._writes.within(work, actor=actor)

    def decide(self, thread_id: str, decision: Decision, *, actor: Actor) -> Written:
        """Take a task through a transition; one that is approved writes its asset, in the same transaction.

        A suggestion that is nobody's is decided by who may edit what it is about, as its routes check.

        Raises
        ------
        Forbidden : the task does not concern the actor
        Conflict : the transition does not lead on from where the task is, or its asset is deleted
        InvalidInput : the task is to write a value, and there is none
        """
        return self._writes.within(lambda record: _decide(record, thread_id, decision), actor=actor)

    def decide_all(
        self, thread_ids: Sequence[str], decision: Decision, *, actor: Actor
    ) -> tuple[list[str], list[TocsinError]]:
        """Take tasks through a transition, in this order and in one transaction: all of them, or after a fault none.

        Those that ``decide`` refuses are left out, as if they had not been named; returns ids of the others, and why
        those were refused.

        Raises
        ------
        TocsinError : more than ``_MOST_REFUSED`` were refused; nothing is written
        """
        decidable_ids, refusals = list(thread_ids), list[TocsinError]()

        def work(record: Record) -> None:
            for thread_id in decidable_ids:
                try:
                    _decide(record, thread_id, decision)
                except (InvalidInput, Conflict, Forbidden, NotFound) as error:
                    raise _Refusal(thread_id, error) from error

        while decidable_ids:
            try:
                self._writes.within(work, actor=actor)
                break
            except _Refusal as refusal:
                decidable_ids.remove(refusal.thread_id)
                refusals.append(refusal.error)
                if len(refusals) > _MOST_REFUSED:
                    raise refusal.error from refusal
        return decidable_ids, refusals

    def edit(self, thread_id: str, edits: Document, *, actor: Actor) -> Written:
        """Set these keys of an open task: ``assignees``, by name or reference, or ``priority``."""

        def work(record: Record) -> Written:
            thread, asset = _find_task(record, thread_id)
            return _change(record, (thread, asset), edits)

        return self._writes.within(work, actor=actor)

    def propose(self, thread_id: str, proposal: Document, *, actor: Actor) -> Written:
        """Make an open suggestion suggest something else: these keys of its payload; only its author may.

        Raises
        ------
        Forbidden : the actor is not its author
        Conflict : it is closed
        """

        def work(record: Record) -> Written:
            thread, asset = _find_task(record, thread_id, Hold.CHANGE)
            rights.check_author(actor, thread.created_by_id, "a suggestion")
            if thread.task["status"] != TaskStatus.OPEN:
                raise Conflict(f"task {thread.task['id']} is closed")
            return _propose(record, thread, asset, proposal)

        return self._writes.within(work, actor=actor)

    def patch(
        self, thread_id: str, shown_task: Document, operations: Sequence[json_patch.PatchOperation], *, actor: Actor
    ) -> Written:
        """Apply a JSON Patch to a task as it is shown: what it is called, says, and to whom and when it is due."""

        def work(record: Record) -> Written:
            thread, asset = _find_task(record, thread_id)
            editable = _editable_part(thread)
            whole_document = shown_task | dict.fromkeys(_EDITABLE & shown_task.keys()) | editable
            redaction = Redaction(record.ids.event())
            hidden = hidden_references(whole_document, record.permit, record.transaction)
            visible_document = redaction.hide(whole_document, hidden)
            patched = redaction.restore(json_patch.apply_to_copy(visible_document, operations, record.bounds))
            requests.check_unchanged(whole_document, patched, _EDITABLE)
            edits = {key: patched.get(key) for key in _EDITABLE if patched.get(key) != editable.get(key)}
            return _change(record, (thread, asset), edits)

        return self._writes.within(work, actor=actor)


class _Refusal(Exception):
    """Ends the transaction of many tasks, one of which was refused."""

    def __init__(self, thread_id: str, error: TocsinError) -> None:
        super().__init__(error.message)
        self.thread_id, self.error = thread_id, error


def _decide(record: Record, thread_id: str, decision: Decision) -> Written:
    thread, asset = _find_task(record, thread_id, Hold.CHANGE)
    if not approvals.is_approval(thread) and not is_nobodys(thread.task, asset):
        rights.check_concerned(record, thread, asset, f"{decision.transition.id} the task")
    transition = _transition_from(thread, decision.transition)
    if asset.is_deleted:
        raise Conflict(f"{asset.entity_type} {asset.fqn} is deleted")
    if approvals.is_approval(thread):
        return approvals.decide_approval(record, thread, asset, transition, decision.comment)
    if transition is REOPEN:
        return _reopen(record, thread, asset, decision)
    return _end(record, thread, asset, replace(decision, transition=transition))


def _document_of(record: Record, request: TaskRequest, asset: Stored) -> Document:
    assignees = _people(record, request.assignees, "assignees")
    if not assignees:
        whole_asset = with_asked(asset.entity_type, asset.document, lambda at: record.transaction.heritage(*at))
        owners = whole_asset.get("owners") or []
        assignees = [{"id": one["id"], "type": one["type"]} for one in owners]
    if not assignees and request.facts["type"] != SUGGESTION:
        raise InvalidInput("a task needs an assignee: a user or a team; this asset has no owner", field="assignees")
    facts = request.facts | {"reviewers": people.assignees(record, _people(record, request.reviewers, "reviewers"))}
    if "payload" in facts:
        facts["payload"] = checked_proposal(record, facts["type"], facts["payload"], request.link.steps)
    task: Document = {"type": request.kind.value, "assignees": assignees, "status": TaskStatus.OPEN.value}
    document: Document = {"type": ThreadType.TASK.value, "message": request.message, "resolved": False}
    document |= {"reactions": [], "task": task, FACTS: facts}
    suggestion = request.suggestion
    key = value_key_of(document)
    if key is not None:
        part = tasks.target_of(asset, request.link.steps, key)
        task["oldValue"] = tasks.text_of(part.get(key))
        if key == "tags" and suggestion is not None:
            suggestion = tasks.text_of(tasks.tags_after(part, facts.get("payload") or {}))
    return document | {"task": task | ({} if suggestion is None else {"suggestion": suggestion})}


def is_nobodys(task: Document, asset: Stored) -> bool:
    """Return whether a task has no assignee and its asset no owner: a suggestion about what nobody owns."""
    return not task["assignees"] and not asset.document.get("owners")


def _propose(record: Record, thread: StoredThread, asset: Stored, proposal: Document) -> Written:
    facts = thread.document[FACTS]
    payload, key = facts["payload"] | proposal, value_key_of(thread.document)
    suggestion = payload["suggestedValue"]
    if key == "tags":
        suggestion = tasks.text_of(tasks.tags_after(tasks.target_of(asset, thread.steps, key), payload))
    if payload == facts["payload"]:
        return Written(events.whole_thread(record, thread, asset), None)
    task = thread.task | {"suggestion": suggestion}
    document = thread.document | {"task": task, FACTS: facts | {"payload": payload}}
    stamped_thread = keep(record, replace(thread, document=document))
    change = FieldChange(name="task.suggestion", old_value=thread.task["suggestion"], new_value=suggestion)
    changes = events.thread_changes(thread.document, document).with_changes(change)
    return with_event(record, EventType.THREAD_UPDATED, (stamped_thread, asset), changes)


def _people(record: Record, names: Sequence[Value], place: str) -> list[Document]:
    """Return references to users and teams, each given as a reference or by name."""
    references = []
    for name in names:
        if isinstance(name, dict):
            references.append(name)
            continue
        kinds = [kind for kind in ("user", "team") if record.transaction.reference(kind, _key_of(kind, name))]
        if not kinds:
            raise NotFound(f"{place}: no user and no team is called {name}")
        references.append({"type": kinds[0], "name": name} | ({"fullyQualifiedName": name} if '"' in name else {}))
    return references


def _key_of(kind: str, name: str) -> Key:
    return Key.by_name(name) if '"' in name else key_of({"type": kind, "name": name})


def _find_task(record: Record, thread_id: str, hold: Hold = Hold.SHARED) -> tuple[StoredThread, Stored]:
    thread, asset = find_thread(record, thread_id, hold)
    if thread.kind != ThreadType.TASK:
        raise NotFound(f"task {thread_id} not found")
    return thread, asset


def _transition_from(thread: StoredThread, transition: Transition) -> Transition:
    """Return the transition, if it leads on from where the task is; who completes what is to be approved approves it.

    Raises
    ------
    Conflict : it does not
    """
    offers = transitions_of(thread.document)
    if transition is COMPLETE and APPROVE in offers:
        return APPROVE
    if transition not in offers:
        state = "open" if thread.task["status"] == TaskStatus.OPEN else f"closed, by {thread.task['closedBy']}"
        next_steps = f"it may be taken on by {', '.join(one.id for one in offers)}" if offers else "it stays so"
        raise Conflict(f"task {thread.task['id']} is {state}; {next_steps}")
    return transition


def _end(record: Record, thread: StoredThread, asset: Stored, decision: Decision) -> Written:
    details, event = (
        _write_into_asset(record, thread, asset, decision) if decision.transition is APPROVE else ({}, None)
    )
    change = end_task(record, thread, asset, task_end_of(decision.transition.state, decision.comment, details))
    return replace(change, cascaded=(event,) if event else ())


def _write_into_asset(
    record: Record, thread: StoredThread, asset: Stored, decision: Decision
) -> tuple[Document, ChangeEvent | None]:
    """Write what an approved task is for; return what its thread says of that, and the asset's event."""
    if value_key_of(thread.document) is None:
        return {}, carry_out_update(record, thread, asset)
    value = tasks.value_of(thread, asset, decision.new_value)
    return {"newValue": value}, tasks.carry_out(record, thread, asset, value)


def _reopen(record: Record, thread: StoredThread, asset: Stored, decision: Decision) -> Written:
    ended = ("closedBy", "closedAt", "newValue")
    task = {key: value for key, value in thread.task.items() if key not in ended} | {"status": TaskStatus.OPEN.value}
    of_end = ("state", "comment", "resolvedById")
    facts = {key: value for key, value in thread.document.get(FACTS, {}).items() if key not in of_end}
    document = thread.document | {"task": task, FACTS: facts}
    post = post_of(record, f"Reopened: {decision.comment}" if decision.comment else "Reopened the task.")
    stamped_thread = with_post(record, replace(thread, document=document), post)
    post_change = FieldChange(name="posts", new_value=[post])
    described = events.thread_changes(thread.document, document).with_changes(post_change)
    return with_event(record, EventType.THREAD_UPDATED, (stamped_thread, asset), described)


def _editable_part(thread: StoredThread) -> Document:
    """Return what of a task a patch may change, as it is stored."""
    facts = thread.document.get(FACTS, {})
    stated = {key: facts[key] for key in (*_OF_FACTS, "reviewers") if key in facts}
    defaults: Document = {"priority": "Medium", "reviewers": [], "tags": []}
    return defaults | stated | {"description": thread.document["message"], "assignees": thread.task["assignees"]}


def _change(record: Record, about: tuple[StoredThread, Stored], edits: Document) -> Written:
    """Change these keys of a task, if the actor may: what it says only its author, the rest whom it concerns."""
    thread, asset = about
    document, facts = dict(thread.document), dict(thread.document.get(FACTS, {}))
    if "description" in edits:
        rights.check_author(record.actor, thread.created_by_id, "a description")
        document["message"] = requests.asked_message(edits, "description")
    if edits.keys() - {"description"}:
        rights.check_concerned(record, thread, asset, "change the task")
        for key in edits.keys() & set(_OF_FACTS):
            facts.pop(key, None)
        facts |= checked_facts({key: edits[key] for key in _OF_FACTS if key in edits})
    if "reviewers" in edits:
        references = _people(record, _list(edits["reviewers"], "reviewers"), "reviewers")
        facts["reviewers"] = people.assignees(record, requests.checked_assignees(references))
    document[FACTS] = facts
    if "assignees" in edits:
        if thread.task["status"] != TaskStatus.OPEN:
            raise Conflict(f"task {thread.task['id']} is closed")
        approvals.check_kept(thread)
        references = _people(record, _list(edits["assignees"], "assignees"), "assignees")
        assignees = people.assignees(record, requests.checked_assignees(references))
        document["task"] = thread.task | {"assignees": requests.check_assignees(assignees)}
    if document == thread.document:
        return Written(events.whole_thread(record, thread, asset), None)
    stamped_thread = keep(record, replace(thread, document=document))
    people.set_of_thread(record, stamped_thread, thread.document)
    changes = events.thread_changes(thread.document, document).with_changes(*_fact_changes(thread.document, document))
    return with_event(record, EventType.THREAD_UPDATED, (stamped_thread, asset), changes)


def _fact_changes(old: Document, new: Document) -> list[FieldChange]:
    """Return what differs of what only 2.x knows."""
    before, after = old.get(FACTS, {}), new.get(FACTS, {})
    return [
        FieldChange(name=f"task.{key}", old_value=before.get(key), new_value=after.get(key))
        for key in (*_OF_FACTS, "reviewers")
        if before.get(key) != after.get(key)
    ]


def _list(value: Value, place: str) -> list[Value]:
    if not isinstance(value, list):
        raise InvalidInput("must be a list", field=place)
    return value
