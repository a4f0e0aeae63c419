"""Members of a team: replaced as a whole or removed one by one, as a change of the team's ``users``.

Only teams of type Group have direct members. Source: OpenMetadata's ``TeamRepository``. Next:
``flow/capture/upsert.py``.
"""

from __future__ import annotations

from tocsin.errors import InvalidInput
from tocsin.flow.capture.upsert import belong, change
from tocsin.flow.capture.write import Record
from tocsin.model.stored import Key, Stored, Written

_WITH_PEOPLE = "Group"
MOST_USERS = 10_000
"""People that one request may name."""


def set_users(record: Record, team: Stored, given: object) -> Written:
    """Let these people, a list of references, be all that are in the team; nothing if they are.

    Raises
    ------
    NotFound : somebody new among them is not there, or is deleted.
    InvalidInput : it is no list of references to users, or the team is no Group.
    """
    if not isinstance(given, list) or len(given) > MOST_USERS:
        raise InvalidInput(f"must be a list of at most {MOST_USERS} references to users", field="users")
    _check_kind(team)
    resolver = record.resolver()
    whole = resolver.lists({"users": given}, team.document).get("users", [])
    users = list({one["id"]: one for one in whole}.values())
    return change(record, resolver, team, team.document | {"users": users})


def take_out(record: Record, team: Stored, user_id: str) -> Written:
    """Let somebody be in the team no longer; nothing if they are not in it. Raises as ``set_users``."""
    _check_kind(team)
    return belong(record, ("team", Key.by_id(team.id)), "users", {"id": user_id, "type": "user"}, belongs=False)


def _check_kind(team: Stored) -> None:
    kind = team.document.get("teamType")
    if kind != _WITH_PEOPLE:
        raise InvalidInput(f"{team.fqn} is a {kind}: only a {_WITH_PEOPLE} has its users set", field="teamType")
