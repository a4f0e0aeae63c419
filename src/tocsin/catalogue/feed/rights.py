"""Permissions on threads: authors edit their own text, participants the thread, and everybody their own reactions.

``server/routes/feed/threads.py`` checks first whether the person may see the asset, or edit it when a task is resolved.
Next: ``catalogue/feed/operations.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tocsin.errors import Forbidden
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.model.stored import Stored
from tocsin.model.thread import StoredThread


@dataclass(frozen=True)
class ThreadRole:
    """A person's relation to a thread and to its asset."""

    actor: Actor
    is_author: bool
    is_assignee: bool
    is_owner: bool

    @property
    def is_concerned(self) -> bool:
        """Return whether they may decide the thread: as its creator, an assignee, or an owner of the asset."""
        return self.is_author or self.is_assignee or self.is_owner or self.actor.is_admin

    def check_concerned(self, action: str) -> None:
        """Refuse ``action`` to whom the thread does not concern.

        Raises
        ------
        Forbidden : the thread does not concern the person
        """
        if not self.is_concerned:
            raise Forbidden(f"Only the assignees, the creator, owners of the asset and administrators may {action}.")


def role_in(actor: Actor, teams: Collection[str], thread: StoredThread, asset: Stored) -> ThreadRole:
    """Return the relation of ``actor``, who is in these teams, to a thread."""
    principals = {actor.id, *teams}
    return ThreadRole(
        actor=actor,
        is_author=thread.created_by_id == actor.id,
        is_assignee=_has(thread.task.get("assignees"), principals),
        is_owner=_has(asset.document.get("owners"), principals),
    )


def check_author(actor: Actor, author_id: str | None, text_kind: str) -> None:
    """Refuse to change somebody else's words; those of people who are deleted for good are nobody's.

    Raises
    ------
    Forbidden : the person is not the author
    """
    if author_id != actor.id:
        raise Forbidden(f"Only the author may edit {text_kind}.")


def check_remover(actor: Actor, author_id: str | None, text_kind: str) -> None:
    """Refuse to delete somebody else's words to all but administrators and bots.

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
