"""Permissions on threads: authors edit their own text, participants the thread, and everybody their own reactions.

``server/routes/feed/threads.py`` checks first whether the person may see the asset, or edit it when a task is resolved.
Next: ``catalogue/feed/operations.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from tocsin.errors import Forbidden
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.model.stored import Stored
from tocsin.model.thread import StoredThread


def check_concerned(record: Record, thread: StoredThread, asset: Stored, action: str) -> None:
    """Refuse ``action`` on a thread to all but its creator, assignees, owners of the asset and administrators.

    Raises
    ------
    Forbidden : the thread does not concern the actor
    """
    actor = record.actor
    principals = {actor.id, *record.transaction.threads.teams_of(actor.id)}
    is_named = _has(thread.task.get("assignees"), principals) or _has(asset.document.get("owners"), principals)
    if not is_named and thread.created_by_id != actor.id and not actor.is_admin:
        raise Forbidden(f"Only the assignees, the creator, owners of the asset and administrators may {action}.")


def check_author(actor: Actor, author_id: str | None, text_kind: str) -> None:
    """Refuse to change another person's words; those of people who are deleted for good are nobody's.

    Raises
    ------
    Forbidden : the person is not the author
    """
    if author_id != actor.id:
        raise Forbidden(f"Only the author may edit {text_kind}.")


def check_remover(actor: Actor, author_id: str | None, text_kind: str) -> None:
    """Refuse to delete another person's words to all but administrators and bots.

    Raises
    ------
    Forbidden : the person is neither author, administrator nor bot
    """
    if author_id != actor.id and not actor.is_admin and not actor.is_bot:
        raise Forbidden(f"Only the author and administrators may delete {text_kind}.")


def check_reactions(actor: Actor, old: object, new: object) -> None:
    """Reject adding or removing a reaction in another person's name.

    Raises
    ------
    Forbidden : a reaction of another person was added or removed
    """
    before, after = _reactions(old), _reactions(new)
    if {who for _, who in before ^ after} - {actor.id}:
        raise Forbidden("You may only add or remove your own reactions.")


def _reactions(value: object) -> frozenset[tuple[str, str]]:
    return (
        frozenset((one["reactionType"], one["user"]["id"]) for one in value) if isinstance(value, list) else frozenset()
    )


def _has(references: list[Document] | None, ids: Collection[str]) -> bool:
    return any(reference.get("id") in ids for reference in references or ())
