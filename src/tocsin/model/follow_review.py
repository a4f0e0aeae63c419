"""Follows of a person: how many are advised, what each has told them, and which are worth a review.

Next: ``store/recipients/followed_assets.py``, ``server/entities/followed_assets.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from uuid import uuid5

from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.follow_choices import FollowChoices
from tocsin.model.notification import NAMESPACE, follow_key
from tocsin.model.personal_notice import notice_thread
from tocsin.model.phrases import count_text

ADVISED_FOLLOWS = 100
"""Follows beyond which people are advised to review them. Source: the seed's FAQ, "How many assets can I follow?"."""

MOST_SELECTED = 1_000
"""Assets that one request may follow or unfollow."""

MOST_OF_TEAM = 1_000
"""Assets that the members of a team may follow by default."""

STALE_AFTER_DAYS = 180
STALE_AFTER_MS = STALE_AFTER_DAYS * 86_400_000
"""The time without any change and notification after which a follow is stale."""

NOISY_FROM = 10
"""Notifications about an asset, none of them read, that make a follow noisy."""

HOLDERS = frozenset(
    {parent for row in ENTITY_TYPES.values() for place in row.places for parent in place.types}
    | {"dashboard", "domain", "dataProduct", "glossary", "glossaryTerm", "classification", "tag", "team", "user"}
)
"""Types that other entities belong to: what happens to those is no change of their own, so they are never stale."""


GATHERING_TYPES = HOLDERS - {"dashboard", "container"}
"""Types that are followed for what they hold, rather than for themselves."""

_HOW = "Review them: tocsin follows, or GET /users/{id}/following."


class Review(StrEnum):
    """Why a follow may be worth a review.

    ``stale``: nothing has changed and nobody was told for half a year. ``noisy``: the person was told often and has
    read none of it. ``gone``: the asset is deleted. ``expiring``: it ends soon, because they do not use it.
    """

    STALE = "stale"
    NOISY = "noisy"
    GONE = "gone"
    EXPIRING = "expiring"


class Tie(StrEnum):
    """By what a person is tied to what they are told of.

    ``asset``: they follow it. ``column``: they follow a column of it. ``container``: they follow what contains, labels
    or owns others. ``team``: a team lets its members follow it.
    """

    ASSET = "asset"
    COLUMN = "column"
    CONTAINER = "container"
    TEAM = "team"


@dataclass(frozen=True)
class ToldCount:
    """How often a person was told of an asset in the app, how much of it is unread, and when the last time was.

    ``opened_ms`` is when they last read any of it, ``first_ms`` when they were told first.
    """

    count: int = 0
    unread_count: int = 0
    last_ms: int | None = None
    opened_ms: int | None = None
    first_ms: int | None = None


NEVER_TOLD = ToldCount()


@dataclass(frozen=True)
class AssetFollow:
    """An asset that a person follows, or one column of it.

    Attributes
    ----------
    reference : to the asset, which may be deleted softly
    column : the FQN of the column below the asset's; None where they follow the asset
    since_ms : the time of the follow; None where the log no longer has it
    changed_ms, version : its last version
    told_count : notifications of the person about the asset, its tests and threads, and, because they follow it, about
        what it contains; about a column those that they got because they follow it
    team : reference to the team whose members follow it by default; None where the person follows it themselves
    expires_ms : when it ends, because they do not use it; None where it does not
    choices : what the person has chosen for this follow; None if nothing
    days : how often it told the person on each of the last 30 days, the last of which is today in UTC
    """

    reference: Document
    since_ms: int | None
    changed_ms: int
    version: Decimal
    told_count: ToldCount = NEVER_TOLD
    column: str | None = None
    team: Document | None = None
    expires_ms: int | None = None
    choices: FollowChoices | None = None
    days: tuple[int, ...] = ()

    def with_choices(self, choices: Mapping[str, FollowChoices]) -> AssetFollow:
        """Return the follow with what is chosen for it, by ``follow_key``."""
        return replace(self, choices=choices.get(self.key))

    def by_team(self, team: Document) -> AssetFollow:
        """Return the follow as one by default of the members of this team."""
        return replace(self, team=team)

    @property
    def name(self) -> str:
        """Return the FQN of what is followed."""
        fqn = str(self.reference["fullyQualifiedName"])
        return fqn if self.column is None else f"{fqn}.{self.column}"

    @property
    def key(self) -> str:
        """Return the ``follow_key``."""
        return follow_key(str(self.reference["id"]), self.column)

    @property
    def tie(self) -> Tie:
        """Return by what the person is tied to it."""
        if self.team is not None:
            return Tie.TEAM
        if self.column is not None:
            return Tie.COLUMN
        return Tie.CONTAINER if self.reference["type"] in GATHERING_TYPES else Tie.ASSET

    @property
    def is_deleted(self) -> bool:
        """Return whether the asset is deleted softly."""
        return bool(self.reference.get("deleted"))

    def is_worth(self, review: Review, now_ms: int) -> bool:
        """Return whether the follow is worth this review."""
        match review:
            case Review.STALE:
                last_ms = max(self.changed_ms, self.told_count.last_ms or 0)
                return self.reference["type"] not in HOLDERS and last_ms < now_ms - STALE_AFTER_MS
            case Review.NOISY:
                return self.told_count.count >= NOISY_FROM and self.told_count.unread_count == self.told_count.count
            case Review.GONE:
                return self.is_deleted
            case Review.EXPIRING:
                return self.expires_ms is not None

    def is_idle(self, since_ms: int, edge_ms: int) -> bool:
        """Return whether the person has not used the follow since ``edge_ms``, if they follow from ``since_ms`` on.

        Then they have opened nothing of it, and either nothing has changed and nobody was told, or they were told
        often and have never read any of it. A team's follows are never idle, nor are those of deleted assets.
        """
        counts = self.told_count
        if self.team is not None or self.is_deleted or max(since_ms, counts.opened_ms or 0) >= edge_ms:
            return False
        is_quiet = self.reference["type"] not in HOLDERS and max(self.changed_ms, counts.last_ms or 0) < edge_ms
        is_unread = self.is_worth(Review.NOISY, edge_ms) and counts.first_ms is not None and counts.first_ms < edge_ms
        return is_quiet or is_unread


def advice_on(follow_count: int) -> str | None:
    """Return what a person is advised who follows so many assets; None where that is few enough."""
    if follow_count <= ADVISED_FOLLOWS:
        return None
    return (
        f"{count_text(follow_count, 'asset')} are followed; with more than {ADVISED_FOLLOWS} it is hard to see what "
        f"matters. {_HOW}"
    )


def advice_thread_id(user_id: str) -> str:
    """Return the id of the thread that tells a person the advice: there is one of it, however often it is given."""
    return str(uuid5(NAMESPACE, f"follow advice|{user_id}"))


def advice_thread(user_fqn: str) -> Document:
    """Return the request of the thread that tells a person the advice, as a notice.

    It has no count: others may read the thread.
    """
    return notice_thread(
        user_fqn, f"You follow more than {ADVISED_FOLLOWS} assets; with so many it is hard to see what matters. {_HOW}"
    )
