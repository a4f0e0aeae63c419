"""Routes of what a person follows: the list to work with, and many assets followed or unfollowed at once.

Each follow is the write of a single one. Next: ``server/routes/people/users.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import Field

from tocsin.errors import Forbidden, TocsinError
from tocsin.model.entity import Document
from tocsin.model.follow_review import Review, advice_on
from tocsin.server.entities.bulk_results import bulk_result, outcome_of
from tocsin.server.entities.followed_assets import (
    FOLLOWED,
    FollowQuestion,
    followed_assets,
    followed_json,
    page_of,
    places_of,
    uncounted_follows,
)
from tocsin.server.http.answer_shapes import schema_of
from tocsin.server.http.json_schema import COUNT, FLAG, TEXT, WHOLE, array, either, exact_object, ref
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, DocumentBody, PathId, QueryParameters, answer
from tocsin.server.routes.people.asset_selection import (
    AS_LISTED,
    FORM_AMONG,
    WAYS,
    SelectedAsset,
    check_type,
    parse_selection,
    select_among,
    select_assets,
)
from tocsin.server.routes.people.followers import (
    check_follower,
    check_oneself,
    check_person,
    hidden_ids,
    may_not_view,
    tell_once,
)

LISTED_BY_DRY_RUN = 100
"""Assets that a dry run lists of those that it counts, passed and failed ones each."""

_OUTCOME: Document = exact_object(
    {"request": {"description": "The asset, or the id or name that selects none."}, "status": WHOLE},
    {"message": {**TEXT, "description": "What became of it, or why nothing did."}},
)
_CHANGED = exact_object(
    {
        "dryRun": FLAG,
        "status": either("success", "partialSuccess", "failure"),
        "numberOfRowsProcessed": COUNT,
        "numberOfRowsPassed": COUNT,
        "numberOfRowsFailed": COUNT,
        "successRequest": array(_OUTCOME),
        "failedRequest": array(_OUTCOME),
        "followCount": {
            **COUNT,
            "description": "What the person then follows, of that which you may view.",
        },
    },
    {"advice": TEXT},
)
_Write = Callable[[Document, str | None], bool]
"""Changes whether a person follows an asset or a column of it, or finds out; returns whether that is a difference."""

_LIST = exact_object({"data": array(schema_of(FOLLOWED)), "paging": ref("Paging")}, {"advice": TEXT})


class FollowingQuery(QueryParameters):
    """Which of the assets that a person follows are listed, in which order."""

    type: str = Field(default="", max_length=2000, description="Types of the assets, with commas.")
    q: str = Field(default="", max_length=1000, description="What the fully qualified name contains.")
    review: Review | None = Field(default=None, description="Only what is worth this review.")
    sort_field: Literal["name", "lastChange", "since", "lastOpened", "told"] = Field(
        default="name", description="What it is sorted by."
    )
    sort_order: Literal["asc", "desc"] | None = Field(default=None, description="Default: `asc` by name, else `desc`.")
    limit: int = Field(default=100, ge=0, le=1000)
    after: str | None = Field(default=None, max_length=10_000)

    def question(self) -> FollowQuestion:
        """Return the question that these parameters ask.

        Raises
        ------
        InvalidInput : there is no such type
        """
        types = tuple(one.strip() for one in self.type.split(",") if one.strip())
        for name in types:
            check_type(name)
        order = self.sort_order or ("asc" if self.sort_field == "name" else "desc")
        return FollowQuestion(
            types,
            text=self.q,
            review=self.review,
            sort=self.sort_field,
            is_descending=order == "desc",
            limit=self.limit,
            after=self.after,
        )


router = DeclaredRoutes(tags=["followers"])


@router.post("/users/{user_id}/follows", openapi_extra=answers("FollowsChanged", _CHANGED, reads="AssetSelection"))
def follow_selected(user_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Follow the assets that ``ids``, ``names`` or a search ``query`` select, or a column of each; a result for each.

    ``dryRun`` changes nothing: it counts them and lists the first.
    """
    follower_id = str(user_id)
    check_follower(follower_id, caller)
    request = parse_selection(body)
    assets = select_assets(request, caller)
    follows_before = places_of(uncounted_follows(follower_id, caller))
    ids_hidden = hidden_ids([one.asset for one in assets if isinstance(one.asset, dict)], follower_id, caller)
    is_dry = request.get("dryRun", False)

    def follow(asset: Document, column: str | None) -> bool:
        if asset["id"] in ids_hidden:
            raise may_not_view(asset["type"], follower_id, caller)
        if is_dry:
            return (asset["id"], column) not in follows_before
        write = caller.parts.writes.follow
        return write(asset["type"], asset["id"], follower_id, actor=caller.actor, column=column).event is not None

    outcomes = [_outcome(one, follow, ("followed", "already followed")) for one in assets]
    new_count = _count_of(outcomes, "followed")
    count = len(follows_before) + new_count
    advice = advice_on(count)
    if advice is not None and new_count and not is_dry:
        tell_once(follower_id, caller)
    return answer(_result(outcomes, count, is_dry=is_dry) | ({"advice": advice} if advice else {}))


@router.post("/users/{user_id}/unfollow", openapi_extra=answers("FollowsChanged", _CHANGED, reads="FollowSelection"))
def unfollow_selected(user_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Unfollow what ``ids``, ``names``, a ``query``, a ``review`` or a part ``q`` of names select; a result for each.

    The last three select among what the person follows. ``dryRun`` changes nothing: it counts the follows and lists the
    first.
    """
    follower_id = str(user_id)
    check_oneself(follower_id, caller)
    check_person(follower_id, caller)
    request = parse_selection(body, FORM_AMONG, (*WAYS, *AS_LISTED))
    follows_before = (followed_assets if "review" in request else uncounted_follows)(follower_id, caller)
    places_before = places_of(follows_before)
    is_dry = request.get("dryRun", False)

    def unfollow(asset: Document, column: str | None) -> bool:
        if is_dry:
            return (asset["id"], column) in places_before
        write = caller.parts.writes.unfollow
        return write(asset["type"], asset["id"], follower_id, actor=caller.actor, column=column).event is not None

    assets = select_among(request, follows_before, caller)
    outcomes = [_outcome(one, unfollow, ("unfollowed", "was not followed")) for one in assets]
    return answer(_result(outcomes, len(places_before) - _count_of(outcomes, "unfollowed"), is_dry=is_dry))


@router.get("/users/{user_id}/following", openapi_extra=answers("FollowedAssets", _LIST))
def list_following(user_id: PathId, caller: Asked, query: Annotated[FollowingQuery, Query()]) -> Response:
    """Return what a user follows, page by page: since when, the last change, and how often it has told the user.

    For the user and administrators.
    """
    follower_id = str(user_id)
    if caller.actor.id != follower_id and not caller.actor.is_admin:
        raise Forbidden("Only the person and administrators may see this list.")
    check_person(follower_id, caller)
    followed = followed_assets(follower_id, caller)
    page = page_of(followed, query.question(), caller.parts.clock.now_ms())
    paging: Document = {"total": page.total} | ({"after": page.after} if page.after else {})
    advice = advice_on(len(followed))
    data = [followed_json(one, caller.root) for one in page.entries]
    return answer({"data": data, "paging": paging} | ({"advice": advice} if advice else {}))


def _outcome(selected: SelectedAsset, write: _Write, words: tuple[str, str]) -> Document:
    """Return what became of what is selected, in the first of ``words`` where that has made a difference."""
    request, asset, column = selected
    if isinstance(request, dict) and column is not None:
        request = request | {"column": column}
    if isinstance(asset, TocsinError):
        return outcome_of(request, asset)
    try:
        is_changed = write(asset, column)
    except TocsinError as error:
        return outcome_of(request, error)
    return outcome_of(request, message=words[0] if is_changed else words[1])


def _count_of(outcomes: Sequence[Document], message: str) -> int:
    return sum(one.get("message") == message for one in outcomes)


def _result(outcomes: Sequence[Document], follow_count: int, *, is_dry: bool) -> Document:
    result = bulk_result(outcomes, is_dry=is_dry) | {"followCount": follow_count}
    if is_dry:
        for key in ("successRequest", "failedRequest"):
            result[key] = result[key][:LISTED_BY_DRY_RUN]
    return result
