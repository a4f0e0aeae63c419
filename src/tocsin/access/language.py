"""Semantic check of policy conditions: the grammar of all conditions, with functions of their own.

Every name is checked when a policy is saved; errors have the position and the nearest known name. Next:
``access/bind.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tocsin.access.nodes import Asks, Condition, Question
from tocsin.conditions.errors import refusal, unknown
from tocsin.conditions.parse import parse
from tocsin.conditions.syntax import Call, Comparison, Junction, LiteralList, Name, Negation, Position, Word, Written
from tocsin.logic import Constant, conjunction_of, disjunction_of, negation_of

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


def parse_condition(text: str, find_names: Known | None = None) -> Condition:
    """Return the meaning of a rule's condition; ``find_names`` looks up the teams and roles it names.

    Raises
    ------
    InvalidCondition : the text is malformed, or a name in it is unknown; says where, and what would do.
    """
    return _meaning(parse(text), find_names)


def _meaning(written: Written, find_names: Known | None) -> Condition:
    match written:
        case Word(value=bool() as value):
            return Constant(value)
        case Negation(operand=operand):
            return negation_of(_meaning(operand, find_names))
        case Junction(operator=operator, operands=parts):
            join = conjunction_of if operator == "and" else disjunction_of
            return join(*(_meaning(part, find_names) for part in parts))
        case Comparison(operator="==" | "!=" as sign, left=operand, right=Word(value=bool() as value)):
            meaning = _meaning(operand, find_names)
            return meaning if value == (sign == "==") else negation_of(meaning)
        case Call():
            return _meaning_of_call(written, find_names)
        case Name(name=name, at=at) if name in FUNCTIONS:
            raise refusal(f"{name} is a function; write {name}()", at, expected=("(",), suggestion=f"{name}()")
        case Name(name=name, at=at):
            raise unknown("function", name, at, FUNCTIONS)
        case _:
            raise refusal("the condition of a rule consists of functions, !, && and ||", written.at, expected=_EXAMPLES)


def _meaning_of_call(written: Call, find_names: Known | None) -> Condition:
    function = FUNCTIONS.get(written.function)
    if function is None:
        raise unknown("function", written.function, written.at, FUNCTIONS)
    words = [word for argument in written.arguments for word in _words(argument)]
    if function.names is None and words:
        raise refusal(f"{written.function} takes no arguments", written.arguments[0].at)
    if function.names is not None and not words:
        raise refusal(f"{written.function} needs the name of a {function.names}", written.at, expected=("a text",))
    for word in words:
        _check_known(function.names or "", str(word.value), word.at, find_names)
    return Asks(function.question, tuple(dict.fromkeys(str(word.value) for word in words)))


def _words(argument: Written) -> tuple[Word, ...]:
    words = argument.words if isinstance(argument, LiteralList) else (argument,)
    for word in words:
        if not isinstance(word, Word) or not isinstance(word.value, str):
            raise refusal("a name must be text in quotes", word.at, expected=("text in quotes",))
    return tuple(word for word in words if isinstance(word, Word))


def _check_known(kind: str, name: str, at: Position, find_names: Known | None) -> None:
    names = find_names(kind, name) if find_names else None
    if names is not None:
        raise unknown(kind, name, at, names)


_EXAMPLES = ("isOwner()", "!noOwner()", "matchAnyTag('PII.Sensitive')")
