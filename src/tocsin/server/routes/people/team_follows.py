"""Routes of what the members of a team follow by default; its owners and administrators decide.

Next: ``store/recipients/team_follows.py``.
"""

from __future__ import annotations

from operator import attrgetter

from fastapi import Response

from tocsin.access.subject import ORGANIZATION
from tocsin.errors import Forbidden, InvalidInput
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import require, visible_document
from tocsin.server.entities.followed_assets import TEAM_FOLLOW, visible_follows
from tocsin.server.entities.response import with_address
from tocsin.server.http.answer_shapes import json_of, schema_of
from tocsin.server.http.json_schema import array, exact_object
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, answer
from tocsin.server.routes.people.asset_selection import (
    FORM_AMONG_TEAM,
    FORM_OF_TEAM,
    WAYS,
    parse_selection,
    select_among,
    select_assets,
)
from tocsin.server.routes.people.follow_outcomes import (
    follow_outcome,
    follows_changed,
    outcome_count,
)

_TEAM = ENTITY_TYPES["team"]
_LIST = exact_object({"data": array(schema_of(TEAM_FOLLOW))})

router = DeclaredRoutes(tags=["followers"])


@router.get("/teams/{team_id}/follows", openapi_extra=answers("TeamFollows", _LIST))
def list_team_follows(team_id: PathId, caller: Asked) -> Response:
    """Return what the members of a team, and of the teams below it, follow by default, by name."""
    visible_document(_TEAM, Key.by_id(str(team_id)), caller)
    follows = visible_follows(caller.parts.alert_stores.team_follows.of(str(team_id)), caller)
    data = [
        json_of(TEAM_FOLLOW, follow) | {"asset": with_address(follow.reference, caller.root)}
        for follow in sorted(follows, key=attrgetter("name"))
    ]
    return answer({"data": data})


@router.post("/teams/{team_id}/follows", openapi_extra=answers("FollowsChanged", reads="TeamAssetSelection"))
def follow_for_team(team_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Let the members of a team follow the assets that ``ids``, ``names`` or a search ``query`` select, by default.

    Each member may unfollow what they like. ``dryRun`` changes nothing: it counts the assets and lists the first.
    """
    team = _check_team(str(team_id), caller)
    request = parse_selection(body, FORM_OF_TEAM)
    assets, store = select_assets(request, caller), caller.parts.alert_stores.team_follows
    follows_before = {one.reference["id"] for one in visible_follows(store.of(team["id"]), caller)}
    is_dry = request.get("dryRun", False)

    def follow(asset: Document, _: str | None) -> bool:
        if is_dry:
            return asset["id"] not in follows_before
        return store.add(team["id"], asset["type"], asset["id"], now_ms=caller.parts.clock.now_ms())

    outcomes = [follow_outcome(one, follow, ("followed", "already followed")) for one in assets]
    count = len(follows_before) + outcome_count(outcomes, "followed")
    return answer(follows_changed(outcomes, count, is_dry=is_dry))


@router.post("/teams/{team_id}/unfollow", openapi_extra=answers("FollowsChanged", reads="TeamFollowSelection"))
def unfollow_for_team(team_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Let the members of a team no longer follow by default what ``ids``, ``names``, a ``query`` or ``q`` select."""
    team = _check_team(str(team_id), caller)
    request = parse_selection(body, FORM_AMONG_TEAM, (*WAYS, "q"))
    store = caller.parts.alert_stores.team_follows
    follows_before = visible_follows(store.of(team["id"]), caller)
    followed_ids = {one.reference["id"] for one in follows_before}
    is_dry = request.get("dryRun", False)

    def unfollow(asset: Document, _: str | None) -> bool:
        return asset["id"] in followed_ids if is_dry else store.remove(team["id"], asset["id"])

    assets = select_among(request, follows_before, caller)
    outcomes = [follow_outcome(one, unfollow, ("unfollowed", "was not followed")) for one in assets]
    return answer(follows_changed(outcomes, len(followed_ids) - outcome_count(outcomes, "unfollowed"), is_dry=is_dry))


def _check_team(team_id: str, caller: Caller) -> Document:
    """Return a team whose members' follows the caller may decide.

    Raises
    ------
    NotFound : there is no such team, or the caller may not view it
    Forbidden : the caller is neither an owner of it nor an administrator, or is a bot
    InvalidInput : it is the Organization
    """
    team = visible_document(_TEAM, Key.by_id(team_id), caller)
    require(caller, Operation.EDIT_USERS, _TEAM, team)
    if caller.actor.is_bot and not caller.actor.is_admin:
        raise Forbidden("Only people may decide what the members of a team follow: its owners and administrators.")
    if team["name"] == ORGANIZATION:
        raise InvalidInput("is everybody: an alert to all people tells them", field="team_id")
    return team
