"""Participants of a thread: authors, assignees and mentioned people, resolved and stored.

Next: ``store/catalogue/feed/rows.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tocsin.catalogue.feed.requests import MOST_PEOPLE
from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.authorization import check_view
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.references import key_of, reference_to
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.mentions import Mention, mentions_in, texts_of
from tocsin.model.stored import Key, not_found
from tocsin.model.thread import PartTaken, StoredThread, ThreadPart


@dataclass(frozen=True)
class OwnReaction:
    """A reaction of the actor's that is to be there or not: to a post, or, without one, to the thread."""

    kind: str
    is_there: bool
    post_id: str | None = None


def assignees(record: Record, references: Iterable[Document]) -> list[Document]:
    """Return full references to those a task is assigned to, each once, by name.

    Raises
    ------
    NotFound : there is no such user or team, or it is deleted.
    InvalidInput : one of them is a bot.
    Forbidden : the assigner may not see one of them.
    """
    assignees_by_id: dict[str, Document] = {}
    for requested_reference in references:
        assignee = record.transaction.find(requested_reference["type"], key_of(requested_reference), Hold.SHARED)
        if assignee is None or assignee.is_deleted:
            raise not_found(requested_reference["type"], key_of(requested_reference))
        check_view(record.permit, assignee)  # a full reference reveals a name
        if assignee.document.get("isBot"):
            raise InvalidInput(f"{assignee.fqn} is a bot; tasks cannot be assigned to bots", field="assignees")
        assignees_by_id[assignee.id] = reference_to(assignee)
    return sorted(assignees_by_id.values(), key=lambda reference: str(reference["fullyQualifiedName"]))


def reactions_with_people(record: Record, old: list[Document], new: list[Document]) -> list[Document]:
    """Return the reactions with full references to who reacted."""
    users_by_id = {one["user"]["id"]: one["user"] for one in old}
    return [{**one, "user": users_by_id.get(one["user"]["id"]) or _user(record, one["user"]["id"])} for one in new]


def with_reaction(record: Record, before: Document, reaction: OwnReaction) -> Document:
    """Return a thread's document, or a post, with or without a reaction of the actor's."""
    reactions: list[Document] = before.get("reactions") or []
    key = (reaction.kind, record.actor.id)
    reactions_without = [one for one in reactions if (one["reactionType"], one["user"]["id"]) != key]
    if reaction.is_there == (len(reactions_without) < len(reactions)):
        return before
    reaction_document: Document = {"reactionType": reaction.kind, "user": {"id": record.actor.id, "type": "user"}}
    after = [*reactions_without, reaction_document] if reaction.is_there else reactions_without
    return before | {"reactions": reactions_with_people(record, reactions, after)}


def set_author(record: Record, thread_id: str, *, place: str = "") -> None:
    """Keep that the actor wrote the thread, or the post that ``place`` names."""
    part = PartTaken(ThreadPart.AUTHOR, record.actor.id, "user", place)
    record.transaction.threads.set_parts(thread_id, ThreadPart.AUTHOR, place, [part])


def set_of_thread(record: Record, thread: StoredThread, before: Document | None = None) -> None:
    """Store the assignees of a thread, and the people its own texts mention; ``before`` is what it was until now."""
    parts = [PartTaken(ThreadPart.ASSIGNEE, one["id"], one["type"]) for one in thread.task.get("assignees") or ()]
    record.transaction.threads.set_parts(thread.id, ThreadPart.ASSIGNEE, "", parts)
    set_mentions(record, thread.id, texts_of(thread.document), texts_of(before or {}))


def set_mentions(
    record: Record, thread_id: str, texts: Iterable[object], before: Iterable[object] = (), *, place: str = ""
) -> None:
    """Store the people these texts mention; unknown names mention nobody.

    A name that nobody has any more, and that the texts had ``before`` already, goes on to mention whom it did.

    Raises
    ------
    InvalidInput : more people and teams are mentioned than a message may
    """
    mentions, mentions_before = mentions_in(*texts), mentions_in(*before)
    if len(mentions) > MOST_PEOPLE:
        raise InvalidInput(f"mentions more than {MOST_PEOPLE} people and teams", field="message")
    references = {one: _reference_to(record, one) for one in dict.fromkeys((*mentions, *mentions_before))}
    parts = {}
    for mention in mentions:
        person_or_team = references[mention]
        if person_or_team is not None and not person_or_team.get("deleted"):
            parts[person_or_team["id"]] = PartTaken(ThreadPart.MENTION, person_or_team["id"], mention.kind, place)
    former_kinds = {one.kind for one in mentions if one in mentions_before and references[one] is None}
    if former_kinds:
        named_ids = {reference["id"] for reference in references.values() if reference is not None}
        for part in record.transaction.threads.parts(thread_id, ThreadPart.MENTION, place):
            if part.principal_type in former_kinds and part.principal_id not in named_ids:
                parts[part.principal_id] = part
    record.transaction.threads.set_parts(thread_id, ThreadPart.MENTION, place, list(parts.values()))


def _reference_to(record: Record, mention: Mention) -> Document | None:
    return record.transaction.reference(mention.kind, Key.by_name(mention.name))


def _user(record: Record, user_id: str) -> Document:
    reference = record.transaction.reference("user", Key.by_id(user_id))
    if reference is None:
        raise NotFound(f"user {user_id} not found")
    return reference
