"""Semantic check of policy conditions: the grammar of all conditions, with functions of their own.

Every name is checked when a policy is saved; errors have the position and the nearest known name. Next:
``access/bind.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tocsin.access.nodes import Asks, Condition, Question
from tocsin.conditions.errors import refused, unknown
from tocsin.conditions.parse import parse
from tocsin.conditions.syntax import Call, Comparison, Junction, LiteralList, Name, Negation, Position, Word, Written
from tocsin.logic import Constant, conjoined, disjoined, negated

Known = Callable[[str, str], Sequence[str] | None]
"""Asked for (type, name): None when there is such an entity, else the names there are."""

LOOKED_UP = frozenset({"team", "role"})
"""Types whose entities must exist when a rule names them; it may speak of a tag before anything carries it."""


@dataclass(frozen=True)
class PolicyFunction:
    """One function: what its arguments name (None: it takes none), and one line of meaning."""

    question: Question
    meaning: str
    names: str | None = None


_ROWS = (
    PolicyFunction(
        Question.IS_OWNER, "the requester owns the entity, directly or through a team; a user owns themselves"
    ),
    PolicyFunction(Question.NO_OWNER, "the entity has no owner"),
    PolicyFunction(Question.IS_ADMIN, "the requester is an administrator"),
    PolicyFunction(Question.IS_BOT, "the requester is a bot"),
    PolicyFunction(Question.HAS_DOMAIN, "the requester and the entity share a domain, or neither has one"),
    PolicyFunction(Question.NO_DOMAIN, "the entity has no domain"),
    PolicyFunction(Question.MATCH_ALL_TAGS, "the entity or one of its columns has all of these tags", "tag"),
    PolicyFunction(Question.MATCH_ANY_TAG, "the entity or one of its columns has one of these tags", "tag"),
    PolicyFunction(Question.MATCH_ANY_CERTIFICATION, "the entity has one of these certifications", "tag"),
    PolicyFunction(
        Question.MATCH_TEAM, "the requester and an owner belong to the team of the policy or to teams below it"
    ),
    PolicyFunction(Question.IN_ANY_TEAM, "the requester belongs to one of these teams or to teams below them", "team"),
    PolicyFunction(Question.HAS_ANY_ROLE, "the requester has one of these roles, directly or through a team", "role"),
)

FUNCTIONS: dict[str, PolicyFunction] = {row.question.value: row for row in _ROWS}
"""Every function that the condition of a rule may call."""


def checked(text: str, known: Known | None = None) -> Condition:
    """Return the meaning of a rule's condition; ``known`` looks up the teams and roles it names.

    Raises
    ------
    InvalidCondition : the text is malformed, or a name in it is unknown; says where, and what would do.
    """
    return _meaning(parse(text), known)


def _meaning(written: Written, known: Known | None) -> Condition:
    match written:
        case Word(value=bool() as value):
            return Constant(value)
        case Negation(operand=operand):
            return negated(_meaning(operand, known))
        case Junction(operator=operator, operands=parts):
            join = conjoined if operator == "and" else disjoined
            return join(*(_meaning(part, known) for part in parts))
        case Comparison(operator="==" | "!=" as sign, left=left, right=Word(value=bool() as value)):
            meant = _meaning(left, known)
            return meant if value == (sign == "==") else negated(meant)
        case Call():
            return _called(written, known)
        case Name(name=name, at=at) if name in FUNCTIONS:
            raise refused(f"{name} is a function; write {name}()", at, expected=("(",), suggestion=f"{name}()")
        case Name(name=name, at=at):
            raise unknown("function", name, at, FUNCTIONS)
        case _:
            raise refused("the condition of a rule consists of functions, !, && and ||", written.at, expected=_EXAMPLES)


def _called(written: Call, known: Known | None) -> Condition:
    function = FUNCTIONS.get(written.function)
    if function is None:
        raise unknown("function", written.function, written.at, FUNCTIONS)
    words = [word for argument in written.arguments for word in _words(argument)]
    if function.names is None and words:
        raise refused(f"{written.function} takes no arguments", written.arguments[0].at)
    if function.names is not None and not words:
        raise refused(f"{written.function} needs the name of a {function.names}", written.at, expected=("a text",))
    for word in words:
        _check_known(function.names or "", str(word.value), word.at, known)
    return Asks(function.question, tuple(dict.fromkeys(str(word.value) for word in words)))


def _words(argument: Written) -> tuple[Word, ...]:
    given = argument.words if isinstance(argument, LiteralList) else (argument,)
    for word in given:
        if not isinstance(word, Word) or not isinstance(word.value, str):
            raise refused("a name must be text in quotes", word.at, expected=("text in quotes",))
    return tuple(word for word in given if isinstance(word, Word))


def _check_known(kind: str, name: str, at: Position, known: Known | None) -> None:
    names = known(kind, name) if known else None
    if names is not None:
        raise unknown(kind, name, at, names)


_EXAMPLES = ("isOwner()", "!noOwner()", "matchAnyTag('PII.Sensitive')")
