"""Assets that a person follows, as a list to work with: filtered, sorted, page by page, of what the reader may view.

All that a person follows is read for every page, without any document: rights, sorting and review concern them all.
Next: ``server/routes/people/follows.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tocsin.model.entity import Document
from tocsin.model.follow_review import NEVER_TOLD, AssetFollow, Review, Tie
from tocsin.model.people import Actor
from tocsin.model.stored import Written
from tocsin.server.access.permissions import visible_references
from tocsin.server.build import Parts
from tocsin.server.entities.response import with_address
from tocsin.server.http.answer_shapes import Shape, json_of
from tocsin.server.http.json_schema import COUNT, FLAG, NUMBER, TEXT, TIME, array, either, exact_object, ref
from tocsin.server.request import Caller
from tocsin.store.database.cursors import cursor_of, not_a_cursor, text_of
from tocsin.store.recipients.idle_follows import IdleFollow

FOLLOWED: Shape[AssetFollow] = {
    "asset": (ref("EntityReference"), lambda followed: followed.reference),
    "tie": (either(*Tie), lambda followed: followed.tie.value),
    "column?": (TEXT, lambda followed: followed.column),
    "team?": (ref("EntityReference"), lambda followed: followed.team),
    "since?": (TIME, lambda followed: followed.since_ms),
    "lastChange": (
        exact_object({"timestamp": TIME, "version": NUMBER}),
        lambda followed: {"timestamp": followed.changed_ms, "version": float(followed.version)},
    ),
    "told": (
        exact_object({"count": COUNT, "unread": COUNT, "days": array(COUNT)}, {"last": TIME}),
        lambda followed: (
            {
                "count": followed.told_count.count,
                "unread": followed.told_count.unread_count,
                "days": list(followed.days),
            }
            | ({"last": followed.told_count.last_ms} if followed.told_count.last_ms is not None else {})
        ),
    ),
    "lastOpened?": (TIME, lambda followed: followed.told_count.opened_ms),
    "deleted": (FLAG, lambda followed: followed.is_deleted),
    "expires?": (TIME, lambda followed: followed.expires_ms),
    "preferences?": (ref("FollowChoices"), lambda followed: followed.choices and followed.choices.to_stored()),
}
"""An entry of the list."""

TEAM_FOLLOW: Shape[AssetFollow] = {
    "asset": (ref("EntityReference"), lambda followed: followed.reference),
    "since": (TIME, lambda followed: followed.since_ms),
    "deleted": (FLAG, lambda followed: followed.is_deleted),
}
"""An entry of the list of what the members of a team follow by default."""

Place = tuple[Any, str]  # Any: a text or a number, alike in one list
"""The value that an entry is sorted by, and the id of its asset."""

SORTS: Mapping[str, Callable[[AssetFollow], str | int]] = {
    "name": lambda followed: followed.name,
    "lastChange": lambda followed: followed.changed_ms,
    "since": lambda followed: followed.since_ms or 0,
    "lastOpened": lambda followed: followed.told_count.opened_ms or 0,
    "told": lambda followed: followed.told_count.count,
}
"""What the list may be sorted by."""


@dataclass(frozen=True)
class FollowQuestion:
    """Which of the assets that a person follows are wanted, in which order.

    Attributes
    ----------
    types : of the assets; empty for all
    text : what their FQN contains, whatever its case
    review : what the follow is worth
    tie : by what the person is tied to the asset
    sort : one of ``SORTS``
    is_descending : whether the largest come first
    limit, after : the size of a page, and the cursor of the one before
    """

    types: tuple[str, ...] = ()
    text: str = ""
    review: Review | None = None
    tie: Tie | None = None
    sort: str = "name"
    is_descending: bool = False
    limit: int = 100
    after: str | None = None


@dataclass(frozen=True)
class FollowPage:
    """Some of the assets that a person follows, how many answer in all, and the cursor of the next page."""

    entries: Sequence[AssetFollow]
    total: int
    after: str | None = None


def followed_assets(user_id: str, caller: Caller) -> list[AssetFollow]:
    """Return what a person follows and the caller may view, how often it has told the person, and whether it ends."""
    visible_assets = uncounted_follows(user_id, caller)
    fqns = {one.reference["id"]: one.reference["fullyQualifiedName"] for one in visible_assets}
    counts = caller.parts.alert_stores.told_counts.of(user_id, caller.parts.clock.now_ms(), fqns)
    ends = expiring_places(user_id, caller)
    places = ((follow, (follow.reference["id"], follow.column)) for follow in visible_assets)
    return [
        replace(follow, told_count=counts.get(place, NEVER_TOLD), expires_ms=_end_of(follow, ends.get(place)))
        for follow, place in places
    ]


def expiring_places(user_id: str, caller: Caller) -> dict[tuple[str, str | None], IdleFollow]:
    """Return the follows of a person that end soon unless they are kept, by the asset and the column in it."""
    follows = caller.parts.alert_stores.idle_follows.of(user_id)
    return {place: idle for place, idle in follows.items() if idle.warned_ms is not None}


def _end_of(follow: AssetFollow, idle: IdleFollow | None) -> int | None:
    """Return when a follow ends; None for one that does not, or that is newer than the warning."""
    if idle is None or idle.warned_ms is None or follow.team is not None or (follow.since_ms or 0) > idle.warned_ms:
        return None
    return idle.expires_ms


def uncounted_follows(user_id: str, caller: Caller) -> list[AssetFollow]:
    """Return what a person follows and the caller may view; what it has told the person is not read.

    What they follow by default of a team that the caller may not view has no team.
    """
    by_default = caller.parts.alert_stores.team_follows.of_member(user_id)
    return [*own_follows(user_id, caller), *visible_follows(by_default, caller)]


def own_follows(user_id: str, caller: Caller) -> list[AssetFollow]:
    """Return what a person follows themselves, not by default of a team, and the caller may view."""
    return visible_follows(caller.parts.alert_stores.followed_assets.of(user_id), caller)


def visible_follows(follows: Sequence[AssetFollow], caller: Caller) -> list[AssetFollow]:
    """Return those of these follows whose assets the caller may view, each with its team if they may view that."""
    references = [one for follow in follows for one in (follow.reference, follow.team) if one is not None]
    visible_ids = {one["id"] for one in visible_references(caller, references)}
    return [
        follow if follow.team is None or follow.team["id"] in visible_ids else replace(follow, team=None)
        for follow in follows
        if follow.reference["id"] in visible_ids
    ]


def stop_following(
    parts: Parts, asset: tuple[str, str], user_id: str, *, actor: Actor, column: str | None = None
) -> tuple[Written, bool]:
    """Let a person follow an asset, or a column, no longer, neither directly nor by default of a team.

    Returns the write, and whether they followed it in one of these ways.
    """
    written = parts.writes.unfollow(*asset, user_id, actor=actor, column=column)
    is_refused = column is None and parts.alert_stores.team_follows.refuse(user_id, asset[1])
    return written, written.event is not None or is_refused


def places_of(followed: Sequence[AssetFollow]) -> set[tuple[str, str | None]]:
    """Return the id of each asset that is followed, with the path of the column where that is followed."""
    return {(str(one.reference["id"]), one.column) for one in followed}


def page_of(followed: Sequence[AssetFollow], question: FollowQuestion, now_ms: int) -> FollowPage:
    """Return the page that is wanted.

    Raises
    ------
    InvalidInput : ``after`` is no cursor of a list in this order
    """

    def place_of(asset: AssetFollow) -> Place:
        return SORTS[question.sort](asset), f"{asset.reference['id']}{asset.column or ''}"

    answering = selected_follows(followed, question, now_ms)
    ordered = sorted(answering, key=place_of, reverse=question.is_descending)
    if question.after is not None:
        last_place = _parse_place(question.after, question.sort)
        ordered = [one for one in ordered if _is_beyond(place_of(one), last_place, question)]
    entries = ordered[: question.limit]
    has_more = 0 < len(entries) < len(ordered)
    after = cursor_of(orjson.dumps(place_of(entries[-1])).decode()) if has_more else None
    return FollowPage(entries, len(answering), after)


def selected_follows(followed: Sequence[AssetFollow], question: FollowQuestion, now_ms: int) -> list[AssetFollow]:
    """Return those that answer a question, in no other order."""
    text = question.text.casefold()
    return [
        asset
        for asset in followed
        if (not question.types or asset.reference["type"] in question.types)
        and text in asset.name.casefold()
        and (question.tie is None or asset.tie is question.tie)
        and (question.review is None or asset.is_worth(question.review, now_ms))
    ]


def followed_json(followed: AssetFollow, root: str) -> Document:
    """Return an entry of the list; ``root`` is the server's address."""
    team = None if followed.team is None else with_address(followed.team, root)
    return json_of(FOLLOWED, replace(followed, reference=with_address(followed.reference, root), team=team))


def _is_beyond(place: Place, last_place: Place, question: FollowQuestion) -> bool:
    return place < last_place if question.is_descending else place > last_place


def _parse_place(cursor: str, sort: str) -> Place:
    """Return where a page in this order ended."""
    try:
        value, entity_id = orjson.loads(text_of(cursor))
    except (TypeError, ValueError) as error:  # of a JSON value that is no pair, too
        raise not_a_cursor(cursor) from error
    if type(value) is not (str if sort == "name" else int) or not isinstance(entity_id, str):
        raise not_a_cursor(cursor)
    return value, entity_id
