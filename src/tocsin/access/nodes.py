"""Algebra of policy conditions: questions about the person and about the entity.

``Asks`` is a question as written. Once the person is known, ``access/bind.py`` answers the questions about the person
and turns the others into the leaves below, which depend on the document alone: ``access/evaluate.py`` evaluates them
for one document, ``store/access/visibility.py`` for all at once, in SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tocsin.conditions.nodes import joined


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
class Asks:
    """A question and the names it was given."""

    question: Question
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Constant:
    """Always or never."""

    holds: bool


@dataclass(frozen=True, slots=True)
class OwnedBy:
    """One of these people and teams (ids) owns it."""

    owners: frozenset[str]


@dataclass(frozen=True, slots=True)
class OwnedWithin:
    """An owner is this team, one of its descendants, or (unless ``teams_only``) a member of one of them.

    ``members`` holds the ids of all of them; ``team_id`` is the equivalent for a store that can follow memberships.
    """

    team_id: str
    members: frozenset[str]
    teams_only: bool = False


@dataclass(frozen=True, slots=True)
class Owned:
    """Somebody owns it."""


@dataclass(frozen=True, slots=True)
class InDomain:
    """It belongs to one of these domains (ids)."""

    domains: frozenset[str]


@dataclass(frozen=True, slots=True)
class HasDomain:
    """It belongs to some domain."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """It, or a member of it such as a column, carries this tag or term (FQN), or a term from which it is derived."""

    tag: str
    carriers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Certified:
    """Its certification is one of these (FQNs)."""

    certifications: frozenset[str]


@dataclass(frozen=True, slots=True)
class About:
    """All its subjects meet the condition of their type: the table of a test, what a query is used in.

    ``resource`` is its own type, ``scopes`` are those conditions; a type not named meets any.
    """

    resource: str
    scopes: tuple[tuple[str, Condition], ...]


Leaf = Asks | OwnedBy | OwnedWithin | Owned | InDomain | HasDomain | Tagged | Certified | About


@dataclass(frozen=True, slots=True)
class Not:
    """The operand does not hold."""

    operand: Condition


@dataclass(frozen=True, slots=True)
class And:
    """All operands hold."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Some operand holds."""

    operands: tuple[Condition, ...]


Condition = Constant | Leaf | Not | And | Or

ALWAYS = Constant(True)
NEVER = Constant(False)


def both(*operands: Condition) -> Condition:
    """Return the operands joined by "and", each once, without what is trivially true."""
    return joined(operands, And, neutral=ALWAYS, decisive=NEVER)


def either(*operands: Condition) -> Condition:
    """Return the operands joined by "or", each once, without what is trivially false."""
    return joined(operands, Or, neutral=NEVER, decisive=ALWAYS)


def negated(operand: Condition) -> Condition:
    """Return the negation of ``operand``."""
    match operand:
        case Constant(holds=holds):
            return Constant(not holds)
        case Not(operand=inner):
            return inner
        case _:
            return Not(operand)


def leaves(condition: Condition) -> Iterator[Leaf]:
    """Yield every leaf of ``condition``, left to right."""
    match condition:
        case Constant():
            return
        case Not(operand=operand):
            yield from leaves(operand)
        case And(operands=operands) | Or(operands=operands):
            for one in operands:
                yield from leaves(one)
        case _:
            yield condition


def asks_about(condition: Condition) -> bool:
    """Say whether a condition depends on a document's subjects."""
    return any(isinstance(leaf, About) for leaf in leaves(condition))


Inheritable = OwnedBy | OwnedWithin | Owned | InDomain | HasDomain
"""Questions about owners and domains, which a document inherits from its ancestors when it has none itself."""


def inheritable(condition: Condition) -> Iterator[Inheritable]:
    """Yield what a condition asks of a document that this may inherit."""
    return (leaf for leaf in leaves(condition) if isinstance(leaf, Inheritable))


def inherited_keys(condition: Condition) -> frozenset[str]:
    """Return the keys of a document that a condition reads and that may be inherited."""
    asked = inheritable(condition)
    return frozenset("domains" if isinstance(one, InDomain | HasDomain) else "owners" for one in asked)
