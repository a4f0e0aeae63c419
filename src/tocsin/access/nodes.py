"""Leaves of policy conditions, which are formulas (``logic.py``): questions about the person and about the entity.

``Asks`` is a question as written. Once the person is known, ``access/bind.py`` answers the questions about the person
and turns the others into the leaves below, which depend on the document alone: ``access/evaluate.py`` evaluates them
for one document, ``store/catalogue/access/visibility.py`` for all at once, in SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tocsin.logic import Formula, leaves


class Question(StrEnum):
    """Every function of the language of rules."""

    IS_OWNER = "isOwner"
    NO_OWNER = "noOwner"
    IS_ADMIN = "isAdmin"
    IS_BOT = "isBot"
    HAS_DOMAIN = "hasDomain"
    NO_DOMAIN = "noDomain"
    MATCH_ALL_TAGS = "matchAllTags"
    MATCH_ANY_TAG = "matchAnyTag"
    MATCH_ANY_CERTIFICATION = "matchAnyCertification"
    MATCH_TEAM = "matchTeam"
    IN_ANY_TEAM = "inAnyTeam"
    HAS_ANY_ROLE = "hasAnyRole"


@dataclass(frozen=True, slots=True)
class Asks(Formula["Leaf"]):
    """A question and the names it was given."""

    question: Question
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnedBy(Formula["Leaf"]):
    """One of these people and teams (ids) owns it."""

    owners: frozenset[str]


@dataclass(frozen=True, slots=True)
class OwnedWithin(Formula["Leaf"]):
    """An owner is this team, one of its descendants, or (unless ``teams_only``) a member of one of them.

    ``members`` holds the ids of all of them; ``team_id`` is the equivalent for a store that can follow memberships.
    """

    team_id: str
    members: frozenset[str]
    teams_only: bool = False


@dataclass(frozen=True, slots=True)
class Owned(Formula["Leaf"]):
    """It has an owner."""


@dataclass(frozen=True, slots=True)
class InDomain(Formula["Leaf"]):
    """It belongs to one of these domains (ids)."""

    domains: frozenset[str]


@dataclass(frozen=True, slots=True)
class HasDomain(Formula["Leaf"]):
    """It belongs to some domain."""


@dataclass(frozen=True, slots=True)
class Tagged(Formula["Leaf"]):
    """It, or a member of it such as a column, carries this tag or term (FQN), or a term from which it is derived."""

    tag: str
    carriers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Certified(Formula["Leaf"]):
    """Its certification is one of these (FQNs)."""

    certifications: frozenset[str]


@dataclass(frozen=True, slots=True)
class About(Formula["Leaf"]):
    """All its subjects meet the condition of their type: the table of a test, what a query is used in.

    ``resource`` is its own type, ``scopes`` are those conditions; a type not named meets any.
    """

    resource: str
    scopes: tuple[tuple[str, Condition], ...]


Leaf = Asks | OwnedBy | OwnedWithin | Owned | InDomain | HasDomain | Tagged | Certified | About
Condition = Formula[Leaf]


def asks_about(condition: Condition) -> bool:
    """Return whether a condition depends on a document's subjects."""
    return any(isinstance(leaf, About) for leaf in leaves(condition))


Inheritable = OwnedBy | OwnedWithin | Owned | InDomain | HasDomain
"""Questions about owners and domains, which a document inherits from its ancestors when it has none itself."""


def inheritable(condition: Condition) -> Iterator[Inheritable]:
    """Yield what a condition asks of a document that this may inherit."""
    return (leaf for leaf in leaves(condition) if isinstance(leaf, Inheritable))


def inherited_keys(condition: Condition) -> frozenset[str]:
    """Return the keys of a document that a condition reads and that may be inherited."""
    parts = inheritable(condition)
    return frozenset("domains" if isinstance(one, InDomain | HasDomain) else "owners" for one in parts)
