"""Routes of teams in addition to those of every collection: hierarchy and members.

Next: ``catalogue/people/teams.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated

from fastapi import Query, Response

from tocsin.access.subject import ORGANIZATION
from tocsin.catalogue.people import teams
from tocsin.errors import NotFound
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import scope_of
from tocsin.server.entities.response import href
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, JsonBody, PathId, answer, list_answer
from tocsin.server.routes.people.followers import event_of
from tocsin.store.catalogue.entities.listing import Listing

_TEAM = ENTITY_TYPES["team"]
_KEYS = ("id", "teamType", "name", "description", "fullyQualifiedName", "displayName")
Children = Mapping[str, Sequence[Document]]
"""The child teams of a team, by its id."""

router = DeclaredRoutes(prefix="/teams", tags=["teams"])


@router.get("/hierarchy", openapi_extra=answers("TeamHierarchyPage"))
def list_hierarchy(
    caller: Asked,
    *,
    limit: Annotated[int, Query(ge=1_000, le=1_000_000)] = 10_000,
    is_joinable: Annotated[bool | None, Query(alias="isJoinable")] = None,
) -> Response:
    """Return the teams below the Organization as a tree; ``isJoinable=true``: joinable ones and their parents."""
    page = caller.parts.catalogue.list_entities(_TEAM.name, Listing(limit=limit, visible=scope_of(caller, _TEAM)))
    teams = {one["id"]: one for one in page.documents if one["name"] != ORGANIZATION}
    if is_joinable:
        teams = _with_those_above(teams, [one for one in teams.values() if one.get("isJoinable", True)])
    children: dict[str, list[Document]] = defaultdict(list)
    top = []
    for team in sorted(teams.values(), key=lambda one: str(one["name"])):
        above = [parent["id"] for parent in team.get("parents") or () if parent["id"] in teams]
        for parent_id in above:
            children[parent_id].append(team)
        top += [] if above else [team]
    data = [_branch(team, children, caller.root, frozenset()) for team in top]
    return list_answer(data)


@router.put("/{team_id}/users", openapi_extra=answers("ChangeEvent", reads="References"))
def set_users(team_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Replace the members of a Group by the users in the body (references)."""
    work = partial(teams.set_users, references=body)
    written = caller.parts.writes.on_entity(_TEAM.name, Key.by_id(str(team_id)), work, actor=caller.actor)
    return answer(event_of(_TEAM, written, caller))


@router.delete("/{team_id}/users/{user_id}", openapi_extra=answers("ChangeEvent"))
def take_out(team_id: PathId, user_id: PathId, caller: Asked) -> Response:
    """Remove a user from a Group."""
    if caller.parts.people.by_id(str(user_id)) is None:
        raise NotFound(f"user {user_id} not found")
    work = partial(teams.take_out, user_id=str(user_id))
    written = caller.parts.writes.on_entity(_TEAM.name, Key.by_id(str(team_id)), work, actor=caller.actor)
    return answer(event_of(_TEAM, written, caller))


def _with_those_above(teams: Mapping[str, Document], descendants: Sequence[Document]) -> dict[str, Document]:
    """Return these teams and all their ancestors."""
    teams_by_id: dict[str, Document] = {}
    waiting = list(descendants)
    while waiting:
        team = waiting.pop()
        if team["id"] not in teams_by_id:
            teams_by_id[team["id"]] = team
            waiting += [teams[one["id"]] for one in team.get("parents") or () if one["id"] in teams]
    return teams_by_id


def _branch(team: Document, children: Children, root: str, above: frozenset[str]) -> Document:
    """Return a team with all its descendants; cycles, which a history may contain, are cut."""
    visited = above | {team["id"]}
    below = [one for one in children.get(team["id"], ()) if one["id"] not in visited]
    return {key: team[key] for key in _KEYS if key in team} | {
        "href": href(_TEAM, team["id"], root),
        "isJoinable": team.get("isJoinable", True),
        "children": [_branch(one, children, root, visited) for one in below],
    }
