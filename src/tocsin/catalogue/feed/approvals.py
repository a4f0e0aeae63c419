"""Approval of glossary terms: one that is made under reviewers is In Review until one of them approves or rejects it.

The task for the reviewers opens and ends with the status of the term, in the transaction that writes it.
Source: OpenMetadata, ``GlossaryApprovalWorkflow``: what a reviewer makes is approved at once. Next:
``catalogue/rules.py``, which calls this.
"""

from __future__ import annotations

from dataclasses import replace

from tocsin.catalogue.feed import events, people
from tocsin.catalogue.feed.requests import MOST_PEOPLE
from tocsin.catalogue.feed.thread_writes import NewThread, begin_thread, end_task, keep, task_end_of, with_event
from tocsin.errors import Conflict, Forbidden, InvalidInput
from tocsin.flow.capture.authorization import EVERYTHING
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.references import reference_to
from tocsin.flow.capture.upsert import change
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.inheritance import with_asked
from tocsin.model.mentions import mentions_in
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Stored, Written
from tocsin.model.task import APPROVE, GLOSSARY_APPROVAL, REJECT, TaskState, Transition, task_type_of
from tocsin.model.thread import FACTS, StoredThread, TaskStatus, TaskType, ThreadType

TERM, _GLOSSARY = "glossaryTerm", "glossary"
STATUS, IN_REVIEW, APPROVED, REJECTED = "entityStatus", "In Review", "Approved", "Rejected"
_DECISIONS = (APPROVED, REJECTED)
_TRANSITIONS_OF_1 = {"approved": APPROVE, "rejected": REJECT}
_STATE_OF = {APPROVED: TaskState.APPROVED, REJECTED: TaskState.REJECTED}


def is_approval(thread: StoredThread) -> bool:
    """Return whether a thread is the task by which a glossary term is approved."""
    return thread.kind == ThreadType.TASK and task_type_of(thread.document) == GLOSSARY_APPROVAL


def with_review_status(record: Record, fields: Document, old: Document) -> Document:
    """Return a glossary term with the status that its reviewers let it have.

    A new one is In Review, or Approved if a reviewer makes it; one that others move under reviewers is In Review again.
    What sources, bots and administrators state stays.

    Raises
    ------
    Forbidden : a person who is no reviewer approves or rejects it, or makes themselves one
    """
    may_state = record.actor.is_admin or record.actor.is_bot
    if not _needs_review(record) or (may_state and STATUS in fields):
        return fields
    document = _with_full_name(fields, old)
    is_moved = bool(old) and _id_above(document) != _id_above(old)
    reviewers = _reviewers_of(record, document)
    entitled_reviewers = _reviewers_before(record, document, old, reviewers) or reviewers
    if not entitled_reviewers:
        return fields
    status, before, is_reviewer = fields.get(STATUS), old.get(STATUS), _is_among(record, entitled_reviewers)
    if not is_reviewer and not may_state and not is_moved and _is_among(record, reviewers):
        raise Forbidden("Only reviewers of a glossary term, or of what it is in, may make themselves its reviewers.")
    if not old:
        return fields | {STATUS: APPROVED if is_reviewer else IN_REVIEW}
    if is_moved and not may_state and reviewers and not _is_among(record, reviewers):
        return fields | {STATUS: IN_REVIEW}
    if status is None and before is not None:
        return fields | {STATUS: before}
    if status != before and status in _DECISIONS and not is_reviewer:
        raise Forbidden("Only reviewers of a glossary term may approve or reject it.")
    return fields


def update_task_for_status(record: Record, document: Document, before: Document) -> None:
    """Open the approval task of a term that is In Review now; end that of one that no longer is."""
    was, now = before.get(STATUS), document.get(STATUS)
    if was == now or not _needs_review(record):
        return
    if was == IN_REVIEW:
        for thread in record.transaction.threads.open_tasks(document["id"], GLOSSARY_APPROVAL):
            state = _STATE_OF.get(str(now), TaskState.CANCELLED)
            _end(record, thread, _term(record, document["id"]), state, None)
    elif now == IN_REVIEW and (reviewers := _reviewers_of(record, document)):
        _begin(record, _term(record, document["id"]), reviewers, is_new=not before)


def update_task_for_reviewers(record: Record, entity_type: str, document: Document, before: Document) -> None:
    """Give the open approval tasks of a term, and of those below it or below a glossary, to its reviewers of now.

    As long as nobody reviews a term, its task stays whose it was.
    """
    if entity_type not in (TERM, _GLOSSARY) or not before or not _needs_review(record):
        return
    is_moved = entity_type == TERM and _id_above(document) != _id_above(before)
    if document.get("reviewers") == before.get("reviewers") and not is_moved:
        return
    threads = record.transaction.threads
    open_tasks = threads.open_tasks(document["id"], GLOSSARY_APPROVAL) if entity_type == TERM else []
    for thread in (*open_tasks, *threads.open_tasks_below(document["fullyQualifiedName"], GLOSSARY_APPROVAL)):
        _hand_on(record, thread, _term(record, thread.about_id))


def decide_approval(
    record: Record, thread: StoredThread, asset: Stored, transition: Transition, comment: str | None
) -> Written:
    """Approve or reject a glossary term by its task; the term has the status, as of who decides.

    Raises
    ------
    Forbidden : the actor is no reviewer of the term
    """
    if not _is_among(record, _reviewers_of(record, asset.document)):
        raise Forbidden(f"Only reviewers of {asset.fqn} may approve or reject it.")
    written = _end(record, thread, asset, transition.state, comment)
    status = APPROVED if transition is APPROVE else REJECTED
    permitted = replace(record, permit=EVERYTHING)  # to review it is the right to set this status
    event = change(permitted, permitted.resolver(), asset, asset.document | {STATUS: status}).event
    return replace(written, cascaded=(event,) if event else ())


def transition_of_1(value: str | None) -> Transition:
    """Return what 1.x means when it resolves an approval task with this value.

    Raises
    ------
    InvalidInput : it is neither ``approved`` nor ``rejected``
    """
    transition = _TRANSITIONS_OF_1.get((value or "").strip().lower())
    if transition is None:
        raise InvalidInput(f"must be {' or '.join(_TRANSITIONS_OF_1)}", field="newValue")
    return transition


def check_kept(thread: StoredThread) -> None:
    """Refuse to delete an approval task, or to hand it on, as long as its term is In Review.

    Raises
    ------
    Conflict : it is one, and open
    """
    if is_approval(thread) and thread.task["status"] == TaskStatus.OPEN:
        raise Conflict("this task is the reviewers' until they approve or reject the glossary term")


def _reviewers_before(record: Record, document: Document, old: Document, reviewers: list[Document]) -> list[Document]:
    """Return who reviewed a term before a change to this document; of a new one, who reviews what it is in."""
    own_ids, ids_before = ([person.get("id") for person in one.get("reviewers") or ()] for one in (document, old))
    if own_ids == ids_before and (not old or _id_above(document) == _id_above(old)):
        return reviewers
    return _reviewers_of(record, old or document | {"reviewers": []})


def _id_above(term: Document) -> str | None:
    """Return the id of what a term is in: a term, or else a glossary."""
    above = term.get("parent") or term.get("glossary")
    return above.get("id") if isinstance(above, dict) else None


def _needs_review(record: Record) -> bool:
    """Return whether review applies to a change: histories and mirrors bring decisions that were made elsewhere."""
    return not record.is_recorded and record.origin is None and record.actor != SYSTEM


def _with_full_name(fields: Document, old: Document) -> Document:
    """Return the fields of a term with its full name, from which it inherits reviewers."""
    above = fields.get("parent") or fields.get("glossary") or {}
    if not isinstance(above, dict) or "fullyQualifiedName" not in above or "name" not in fields:
        return old | fields
    return fields | {"fullyQualifiedName": fqn.child(above["fullyQualifiedName"], fields["name"])}


def _reviewers_of(record: Record, document: Document) -> list[Document]:
    """Return the users and teams, no bots, that are there and review a term, its own or inherited."""
    transaction = record.transaction
    whole_document = with_asked(TERM, document, lambda place: transaction.heritage(*place))
    reviewers = []
    for reference in (whole_document.get("reviewers") or ())[:MOST_PEOPLE]:
        reviewer = transaction.find(reference["type"], Key.by_id(reference["id"]), Hold.SHARED)
        if reviewer is not None and not reviewer.is_deleted and not reviewer.document.get("isBot"):
            reviewers.append(reference_to(reviewer))
    return reviewers


def _is_among(record: Record, reviewers: list[Document]) -> bool:
    principals = {record.actor.id, *record.transaction.threads.teams_of(record.actor.id)}
    return any(one["id"] in principals for one in reviewers)


def _term(record: Record, term_id: str) -> Stored:
    term = record.transaction.find(TERM, Key.by_id(term_id), Hold.SHARED)
    assert term is not None, "it was written in this transaction"  # noqa: S101
    return term


def _begin(record: Record, term: Stored, reviewers: list[Document], *, is_new: bool) -> None:
    action = "Create" if is_new else "Update"
    payload = {"glossaryTerm": reference_to(term), "action": action, "proposedState": APPROVED}
    document: Document = {
        "type": ThreadType.TASK.value,
        "message": _message_about(term),
        "resolved": False,
        "reactions": [],
        "task": {
            "type": TaskType.REQUEST_APPROVAL.value,
            "assignees": reviewers,
            "status": TaskStatus.OPEN.value,
        },
        FACTS: {"type": GLOSSARY_APPROVAL, "payload": payload},
    }
    begin_thread(record, NewThread(document), term)


def _message_about(term: Stored) -> str:
    """Return what asks the reviewers of a term; a name that would mention people is left out."""
    name = str(term.document.get("displayName") or term.document["name"])
    return "Please approve the glossary term." if mentions_in(name) else f"Please approve the glossary term {name}."


def _hand_on(record: Record, thread: StoredThread, term: Stored) -> None:
    """Make the reviewers of a term the assignees of its open task, with an event where that changes them."""
    reviewers = _reviewers_of(record, term.document)
    if not reviewers or {one["id"] for one in reviewers} == {one["id"] for one in thread.task["assignees"]}:
        return
    document = thread.document | {"task": thread.task | {"assignees": reviewers}}
    stamped_thread = keep(record, replace(thread, document=document))
    people.set_of_thread(record, stamped_thread, thread.document)
    changes = events.thread_changes(thread.document, document)
    with_event(record, EventType.THREAD_UPDATED, (stamped_thread, term), changes)


def _end(record: Record, thread: StoredThread, term: Stored, state: TaskState, comment: str | None) -> Written:
    details = {"newValue": APPROVED} if state is TaskState.APPROVED else {}
    return end_task(record, thread, term, task_end_of(state, comment, details, subject="the term"))
