"""Substitutes of people who are away: who takes the incidents that are assigned to them meanwhile.

Next: ``store/catalogue/people/substitutes.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict

from tocsin.model.entity import Document
from tocsin.model.mentions import mention_of
from tocsin.model.notification import NAMESPACE

_NO_MARKS = dict.fromkeys(map(ord, "<["))
"""What begins a mention or a link: without it, the name of who asks mentions nobody else."""


@dataclass(frozen=True)
class Substitution:
    """A person has named a substitute, epoch milliseconds ago; it counts once they have accepted."""

    user_id: str
    substitute_id: str
    is_accepted: bool
    since_ms: int

    @property
    def thread_id(self) -> str:
        """Return the id of the thread that asks the substitute: one for each time they are named."""
        return str(uuid5(NAMESPACE, f"substitute|{self.user_id}|{self.substitute_id}|{self.since_ms}"))


class StandIn(NamedTuple):
    """A person who is away until a moment (epoch milliseconds), and who stands in for them; None for nobody."""

    user_id: str
    away_until_ms: int
    substitute_id: str | None

    @property
    def assignee(self) -> Document:
        """Return a reference to who gets what is meant for the person: themselves, without a substitute."""
        return {"type": "user", "id": self.substitute_id or self.user_id}


class SubstituteReference(BaseModel):
    """A reference to a user, by id; what else it has is not read."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: UUID


class SubstituteRequest(BaseModel):
    """Whom a person names: a reference to a user, by id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    substitute: SubstituteReference


def stand_in_of(
    user_id: str,
    away_until: Callable[[str], int | None],
    substitution_of: Callable[[str], Substitution | None],
    may_take: Callable[[str], bool],
) -> StandIn | None:
    """Return who stands in for a person; None if they are not away.

    Of a substitute who is away as well, theirs does. ``may_take``: whether a person can be given it.
    """
    away_until_ms = away_until(user_id)
    if away_until_ms is None:
        return None
    passed_ids, current_id = {user_id}, user_id
    while True:
        substitution = substitution_of(current_id)
        if substitution is None or not substitution.is_accepted or substitution.substitute_id in passed_ids:
            return StandIn(user_id, away_until_ms, None)
        current_id = substitution.substitute_id
        passed_ids.add(current_id)
        if away_until(current_id) is None:
            return StandIn(user_id, away_until_ms, current_id if may_take(current_id) else None)


def request_thread(user: Document, substitute: Document) -> Document:
    """Return the request of the thread by which a person asks a substitute, who alone is mentioned."""
    user_fqn, name = str(substitute["fullyQualifiedName"]), str(user["name"]).translate(_NO_MARKS)
    message = (
        f"{mention_of(user_fqn)} {name} asks you to take the incidents that are assigned to them while they are away. "
        f"Agree: tocsin substitute --accept {name}. Decline, or end it later: tocsin substitute --decline {name}"
    )
    return {"about": f"<#E::user::{user_fqn}>", "message": message}
