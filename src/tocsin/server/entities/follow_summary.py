"""What a person follows in numbers: of each kind, what is worth a review, and what they were told in 30 days.

Next: ``server/routes/people/follows.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tocsin.model.follow_review import AssetFollow, Review, Tie
from tocsin.server.entities.followed_assets import followed_assets
from tocsin.server.http.answer_shapes import Shape
from tocsin.server.http.json_schema import COUNT, exact_object, mapping
from tocsin.server.request import Caller
from tocsin.store.outbox.told_months import NO_DAYS, ToldMonth

_REVIEWED = (Review.STALE, Review.NOISY, Review.GONE)


@dataclass(frozen=True)
class FollowSummary:
    """Follows in numbers.

    Attributes
    ----------
    follow_count : of all
    ties, types, reviews : by what the person is tied to them, by the types of the assets, by what they are worth
    told_count, opened_count : notifications of 30 days in the app about what is followed, and those of them opened
    fewer : how many of them would not have come without what each review finds, and without all of that (``all``)
    """

    follow_count: int
    ties: dict[str, int]
    types: dict[str, int]
    reviews: dict[str, int]
    told_count: int
    opened_count: int
    fewer: dict[str, int]


SUMMARY: Shape[FollowSummary] = {
    "all": (COUNT, lambda summary: summary.follow_count),
    "ties": (exact_object({tie.value: COUNT for tie in Tie}), lambda summary: summary.ties),
    "types": (mapping(COUNT), lambda summary: summary.types),
    "reviews": (exact_object({review.value: COUNT for review in Review}), lambda summary: summary.reviews),
    "month": (
        exact_object({"told": COUNT, "opened": COUNT}),
        lambda summary: {"told": summary.told_count, "opened": summary.opened_count},
    ),
    "fewer": (
        exact_object({**{review.value: COUNT for review in _REVIEWED}, "all": COUNT}),
        lambda summary: summary.fewer,
    ),
}


def follow_summary(user_id: str, caller: Caller) -> FollowSummary:
    """Return what a person follows and the caller may view, in numbers."""
    follows, now_ms = followed_assets(user_id, caller), caller.parts.clock.now_ms()
    month = _month_of(user_id, follows, caller)
    worth = {review: [one for one in follows if one.is_worth(review, now_ms)] for review in Review}
    keys_by_review = {review.value: {one.key for one in worth[review]} for review in _REVIEWED}
    keys_by_review["all"] = set().union(*keys_by_review.values())
    ties = Counter(one.tie for one in follows)
    return FollowSummary(
        follow_count=len(follows),
        ties={tie.value: ties[tie] for tie in Tie},
        types=dict(Counter(str(one.reference["type"]) for one in follows)),
        reviews={review.value: len(worth[review]) for review in Review},
        told_count=month.told_count,
        opened_count=month.read_count,
        fewer={name: month.count_without(keys) for name, keys in keys_by_review.items()},
    )


def with_days(user_id: str, follows: Sequence[AssetFollow], caller: Caller) -> list[AssetFollow]:
    """Return follows with how often each told the person on each of the last 30 days."""
    if not follows:
        return []
    days = _month_of(user_id, follows, caller).days
    return [replace(one, days=tuple(days[one.key]) if one.key in days else NO_DAYS) for one in follows]


def _month_of(user_id: str, follows: Sequence[AssetFollow], caller: Caller) -> ToldMonth:
    fqns = {one.reference["id"]: one.reference["fullyQualifiedName"] for one in follows}
    return caller.parts.alert_stores.told_months.of(user_id, caller.parts.clock.now_ms(), fqns)
