"""Reasons for which an asset is recommended to a person, and how much each weighs.

The weights are measured (docs/decisions/0216-recommendations-are-stored-as-reasons.md). Next:
``spark/recommendations.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import count_text


class ReasonToFollow(StrEnum):
    """How an asset is related to what a person follows, or to the people around them."""

    CONTAINER = "container"
    MADE_FROM = "madeFrom"
    FEEDS = "feeds"
    LINEAGE = "lineage"
    DOMAIN = "domain"
    TAG = "tag"
    TOGETHER = "together"
    TEAM = "team"


FAMILIES: Mapping[ReasonToFollow, str] = {
    ReasonToFollow.MADE_FROM: "lineage",
    ReasonToFollow.FEEDS: "lineage",
}
"""Reasons that are measured together with others, under one name; the rest stand for themselves."""

WEIGHTS: Mapping[str, float] = {
    "container": 1.0,
    "lineage": 0.3,
    "together": 0.3,
    "team": 0.25,
    "domain": 0.1,
    "tag": 0.1,
}
"""The weight of the strongest reason of each family that a person has; weaker ones have a part of it."""

ABOUT_PEOPLE = frozenset({ReasonToFollow.TOGETHER, ReasonToFollow.TEAM})
"""Reasons that tell what other people follow."""

_NEVER = frozenset({"testCase", "testSuite", "query", "ingestionPipeline", "tag", "classification", "glossaryTerm"})
RECOMMENDED_TYPES = tuple(name for name, row in ENTITY_TYPES.items() if row.is_asset and name not in _NEVER)
"""Types that are recommended: assets, without labels and without what is told with its asset anyway."""

MOST_STORED = 30
"""Assets that are stored for each person."""


@dataclass(frozen=True)
class Evidence:
    """One reason to recommend an asset, as a run of the job found it.

    Attributes
    ----------
    via_id : the asset that the person follows, by which it is related; empty for a team
    through_id : what relates them: container, domain, label, asset between, or team; may be empty
    people_count, member_count : how many people follow it, and of how many; 0 where the reason is not about people
    strength : what it adds to the rank of the asset
    place : the asset's rank among those of the person, 1 for the first
    """

    entity_id: str
    kind: ReasonToFollow
    via_id: str
    through_id: str
    people_count: int
    member_count: int
    strength: float
    place: int

    @property
    def named_ids(self) -> tuple[str, ...]:
        """The ids of all that the reason names beside the asset."""
        return tuple(one for one in (self.via_id, self.through_id) if one)


def sentence_of(evidence: Evidence, via: str, through: str, follower: str = "you follow") -> str:
    """Return a reason in words; ``via`` and ``through`` are names, ``follower`` says who follows ``via``."""
    via_clause = f"{via}, which {follower},"
    match evidence.kind:
        case ReasonToFollow.CONTAINER:
            return f"it is in {through}, as is {via_clause[:-1]}"
        case ReasonToFollow.MADE_FROM:
            return f"it is made from {via_clause[:-1]}"
        case ReasonToFollow.FEEDS:
            return f"{via_clause} is made from it"
        case ReasonToFollow.LINEAGE:
            return f"its lineage meets that of {via_clause} in {through}"
        case ReasonToFollow.DOMAIN:
            return f"it is in the domain {through}, as is {via_clause[:-1]}"
        case ReasonToFollow.TAG:
            return f"it is labelled {through}, as is {via_clause[:-1]}"
        case ReasonToFollow.TOGETHER:
            people = count_text(evidence.people_count, "person", "people")
            return f"{people} who {_follow(evidence)} {via_clause} {_follow(evidence)} it too"
        case ReasonToFollow.TEAM:
            people = count_text(evidence.member_count, "person", "people")
            return f"{evidence.people_count:,} of {people} in {through} {_follow(evidence)} it"


def _follow(evidence: Evidence) -> str:
    return "follows" if evidence.people_count == 1 else "follow"
