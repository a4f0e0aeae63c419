"""Routes of what a person follows: the list to work with, and many assets followed or unfollowed at once.

Each follow is the write of a single one. Next: ``server/routes/people/users.py``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import Field

from tocsin.errors import Forbidden, InvalidInput
from tocsin.model.entity import Document
from tocsin.model.follow_review import Review, Tie, advice_on
from tocsin.model.notification import follow_key
from tocsin.server.entities.follow_summary import SUMMARY, follow_summary, with_days
from tocsin.server.entities.followed_assets import (
    FOLLOWED,
    FollowQuestion,
    expiring_places,
    followed_assets,
    followed_json,
    own_follows,
    page_of,
    places_of,
    stop_following,
    uncounted_follows,
)
from tocsin.server.http.answer_shapes import json_of, schema_of
from tocsin.server.http.json_schema import TEXT, array, exact_object, ref
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
from tocsin.server.routes.people.follow_outcomes import (
    FOLLOWS_CHANGED,
    follow_outcome,
    follows_changed,
    outcome_count,
)
from tocsin.server.routes.people.follow_preferences import choose_for_follows, parse_choices_for, remarks_on_choices
from tocsin.server.routes.people.followers import (
    check_follower,
    check_oneself,
    check_person,
    follow_or_keep,
    hidden_ids,
    may_not_view,
    tell_once,
)

_LIST = exact_object({"data": array(schema_of(FOLLOWED)), "paging": ref("Paging")}, {"advice": TEXT})


class FollowingQuery(QueryParameters):
    """Which of the assets that a person follows are listed, in which order."""

    type: str = Field(default="", max_length=2000, description="Types of the assets, with commas.")
    q: str = Field(default="", max_length=1000, description="What the fully qualified name contains.")
    review: Review | None = Field(default=None, description="Only what is worth this review.")
    tie: Tie | None = Field(default=None, description="Only what the person is tied to in this way.")
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
            tie=self.tie,
            sort=self.sort_field,
            is_descending=order == "desc",
            limit=self.limit,
            after=self.after,
        )


router = DeclaredRoutes(tags=["followers"])


@router.post(
    "/users/{user_id}/follows", openapi_extra=answers("FollowsChanged", FOLLOWS_CHANGED, reads="KeptSelection")
)
def follow_selected(user_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Follow the assets that ``ids``, ``names`` or a search ``query`` select, or a column of each; a result for each.

    What is followed goes on, also if it was about to end: ``review`` ``expiring`` selects that. ``dryRun`` changes
    nothing: it counts them and lists the first. ``preferences`` are what each of these follows tells of from now on;
    ``remarks`` say why nothing comes over a channel that they choose.
    """
    follower_id = str(user_id)
    check_follower(follower_id, caller)
    request, assets = _selected_to_follow(body, follower_id, caller)
    choices = parse_choices_for(follower_id, request, caller)
    follows_before = places_of(own_follows(follower_id, caller))
    ends = expiring_places(follower_id, caller)
    ids_hidden = hidden_ids([one.asset for one in assets if isinstance(one.asset, dict)], follower_id, caller)
    is_dry = request.get("dryRun", False)
    followed_keys: list[str] = []

    def follow(asset: Document, column: str | None) -> bool:
        if asset["id"] in ids_hidden:
            raise may_not_view(asset["type"], follower_id, caller)
        if is_dry:
            return (asset["id"], column) not in follows_before
        written = follow_or_keep((asset["type"], asset["id"]), follower_id, caller, column=column)
        followed_keys.append(follow_key(asset["id"], column))
        return written.event is not None

    def words(selected: SelectedAsset) -> tuple[str, str]:
        place = (selected.asset["id"], selected.column) if isinstance(selected.asset, dict) else None
        return "followed", "kept" if place in ends else "already followed"

    outcomes = [follow_outcome(one, follow, words(one)) for one in assets]
    if choices is not None and followed_keys:
        choose_for_follows(follower_id, dict.fromkeys(followed_keys, choices), caller)
    new_count = outcome_count(outcomes, "followed")
    count = len(follows_before) + new_count
    advice = advice_on(count)
    if advice is not None and new_count and not is_dry:
        tell_once(follower_id, caller)
    remarks = [] if choices is None else remarks_on_choices(follower_id, choices, caller)
    words_beside = ({"advice": advice} if advice else {}) | ({"remarks": remarks} if remarks else {})
    return answer(follows_changed(outcomes, count, is_dry=is_dry) | words_beside)


def _selected_to_follow(body: Document, follower_id: str, caller: Asked) -> tuple[Document, list[SelectedAsset]]:
    """Return a request, and the assets that it selects to be followed; those that end soon are followed already."""
    if "review" not in body:
        request = parse_selection(body)
        return request, select_assets(request, caller)
    request = parse_selection(body, FORM_AMONG, (*WAYS, "review"))
    if request["review"] != Review.EXPIRING:
        raise InvalidInput("selects what is followed: of this, only what is expiring can be kept", field="review")
    return request, select_among(request, followed_assets(follower_id, caller), caller)


@router.post(
    "/users/{user_id}/unfollow", openapi_extra=answers("FollowsChanged", FOLLOWS_CHANGED, reads="FollowSelection")
)
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
        place = (asset["type"], asset["id"])
        return stop_following(caller.parts, place, follower_id, actor=caller.actor, column=column)[1]

    assets = select_among(request, follows_before, caller)
    outcomes = [follow_outcome(one, unfollow, ("unfollowed", "was not followed")) for one in assets]
    return answer(follows_changed(outcomes, len(places_before) - outcome_count(outcomes, "unfollowed"), is_dry=is_dry))


@router.get("/users/{user_id}/following", openapi_extra=answers("FollowedAssets", _LIST))
def list_following(user_id: PathId, caller: Asked, query: Annotated[FollowingQuery, Query()]) -> Response:
    """Return what a user follows, page by page: since when, the last change, and how often it has told the user.

    For the user and administrators.
    """
    follower_id = _reader_of_follows(user_id, caller)
    followed = followed_assets(follower_id, caller)
    page = page_of(followed, query.question(), caller.parts.clock.now_ms())
    paging: Document = {"total": page.total} | ({"after": page.after} if page.after else {})
    advice = advice_on(sum(one.team is None for one in followed))
    choices = caller.parts.alert_stores.preferences.choices_for_follows(follower_id)
    entries = with_days(follower_id, page.entries, caller)
    data = [followed_json(one.with_choices(choices), caller.root) for one in entries]
    return answer({"data": data, "paging": paging} | ({"advice": advice} if advice else {}))


@router.get("/users/{user_id}/following/summary", openapi_extra=answers("FollowSummary", schema_of(SUMMARY)))
def summarize_following(user_id: PathId, caller: Asked) -> Response:
    """Return what a user follows in numbers, what of it is worth a review, and how much less ending that would tell.

    For the user and administrators.
    """
    follower_id = _reader_of_follows(user_id, caller)
    return answer(json_of(SUMMARY, follow_summary(follower_id, caller)))


def _reader_of_follows(user_id: PathId, caller: Asked) -> str:
    """Return the person whose follows are read.

    Raises
    ------
    Forbidden : the caller is neither this person nor an administrator
    """
    follower_id = str(user_id)
    if caller.actor.id != follower_id and not caller.actor.is_admin:
        raise Forbidden("Only the person and administrators may see this list.")
    check_person(follower_id, caller)
    return follower_id
