"""Semantic check of conditions: syntax tree to the algebra of ``nodes.py``.

Every name is resolved, every comparison has compatible types, and syntactic sugar is expanded; the engines interpret
the result. Next: ``conditions/evaluate.py``, ``conditions/normal_form.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from tocsin.conditions import operands
from tocsin.conditions.changes import ANY_PART, KNOWN_CATEGORIES, ChangeOperation
from tocsin.conditions.compare import comparison
from tocsin.conditions.errors import refused, unknown
from tocsin.conditions.event_aliases import ALIASES, with_meaning
from tocsin.conditions.examples import call_of, method_of, relation_of
from tocsin.conditions.fields import has
from tocsin.conditions.functions import FUNCTIONS, TIMES, Function
from tocsin.conditions.methods import METHODS, steps_on_values, text_test
from tocsin.conditions.missing_quotes import check_quoted, not_quoted, quoted
from tocsin.conditions.nodes import (
    FieldValue,
    Kind,
    Literals,
    Node,
    Operator,
    PathRoot,
    PathValue,
    Personal,
    Present,
    Test,
    TextTest,
)
from tocsin.conditions.operands import Nothing, Operand
from tocsin.conditions.parse import parse
from tocsin.conditions.paths import unquoted
from tocsin.conditions.patterns import MAX_STEPS
from tocsin.conditions.relations import MEMBER, RELATIONS, question
from tocsin.conditions.syntax import (
    Call,
    Comparison,
    Junction,
    LiteralList,
    Method,
    Name,
    Negation,
    PathStep,
    Position,
    Word,
    Written,
)
from tocsin.conditions.unparse import text_of
from tocsin.errors import InvalidCondition
from tocsin.logic import ALWAYS, NEVER, Constant, conjoined, disjoined, leaves, negated, replaced
from tocsin.model.change import EventType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import nearest

_WORDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "eventType": ("type of event", (*EventType, *ALIASES)),
    "changeCategory": ("category of change", KNOWN_CATEGORIES),
    "changeOperation": ("operation of change", tuple(ChangeOperation)),
}
"""Fields that can have but a few values: what one of them is called, and which there are."""

_OLD_AND_NEW = {"oldValue": PathRoot.OLD, "newValue": PathRoot.NEW}


def check(written: Written) -> Node:
    """Return the meaning of a parsed condition.

    Raises
    ------
    InvalidCondition : a name is unknown, kinds differ, or an argument is of the wrong kind; says where, and what
        was expected, with the nearest known name.
    """
    return replaced(_condition(written), with_meaning)


def checked(text: str) -> Node:
    """Return the meaning of a condition's text: ``check(parse(text))``, if its patterns cost little together.

    Raises
    ------
    InvalidCondition : as ``check`` says, or its regular expressions could take too long together.
    """
    node = check(parse(text))
    tests = (leaf for leaf in leaves(node) if isinstance(leaf, TextTest))
    if sum(map(steps_on_values, tests)) > MAX_STEPS:
        raise refused(
            f"the regular expressions of this condition could take more than {MAX_STEPS:,} steps together;"
            " simplify them",
            Position(1, 1),
        )
    return node


def _condition(written: Written) -> Node:
    """Return what must hold or not."""
    meant = _meaning(written)
    if isinstance(meant, Nothing):
        raise refused("a condition cannot be null", meant.at, expected=("true", "false"))
    return _truth(meant) if isinstance(meant, Operand) else meant


def _truth(operand: Operand) -> Node:
    """Return the condition that a bare value is: that it is true."""
    if operand.is_literal and operand.kind is Kind.BOOLEAN and isinstance(operand.value, Literals):
        return Constant(operand.value.values == (True,))
    if operand.kind not in (Kind.BOOLEAN, Kind.ANY):
        raise refused(
            f"a condition must be true or false, but this is a {operand.kind}; compare it with something",
            operand.at,
            expected=("==", "!=", "in"),
        )
    return comparison(Operator.EQ, operand, Operand(Literals(Kind.BOOLEAN, (True,)), Kind.BOOLEAN, operand.at))


def _meaning(written: Written) -> Node | Operand | Nothing:
    match written:
        case Word():
            return operands.literal(written)
        case LiteralList():
            return operands.listing(written)
        case Name() | PathStep():
            return operands.settled(_path(written))
        case Call():
            return _called(written)
        case Method():
            return _method(written)
        case Negation(operand=operand):
            return negated(_condition(operand))
        case Comparison():
            return _compared(written)
        case Junction(operator=operator, operands=parts):
            join = conjoined if operator == "and" else disjoined
            return join(*(_condition(part) for part in parts))


def _path(written: Written) -> Operand:
    """Return a name, or steps from one, not yet settled."""
    match written:
        case PathStep(of=of):
            return operands.step(_path(of), written)
        case Name():
            return operands.named(written)
        case _:
            return _operand(written)


def _operand(written: Written) -> Operand:
    """Return a value; refuses conditions and null."""
    meant = _meaning(written)
    if isinstance(meant, Operand):
        return meant
    raise refused("expected a value, found a condition or null", written.at)


def _compared(written: Comparison) -> Node:
    _check_negation(written)
    left, right = _side(written.left, written.right), _side(written.right, written.left)
    is_negative = written.operator == "!="
    node = _related(written, left, right)
    return negated(node) if is_negative else node


def _check_negation(written: Comparison) -> None:
    """Refuse ``!eventType == 'a'``, which asks whether a text is not true, and means ``!(eventType == 'a')``."""
    if not isinstance(written.left, Negation) or not isinstance(written.left.operand, Name | PathStep):
        return
    of = _meaning(written.left.operand)
    if isinstance(of, Operand) and of.kind not in (Kind.BOOLEAN, Kind.ANY):
        meant = text_of(Negation(replace(written, left=written.left.operand), written.left.at))
        raise refused(f"! binds tighter than a comparison; write {meant}", written.left.at, expected=("(",))


def _side(side: Written, other: Written) -> Node | Operand | Nothing:
    """Return the meaning of one side of a comparison; compared with ``null``, a whole entity is a value, too."""
    is_about_null = isinstance(other, Word) and other.value is None
    if is_about_null and isinstance(side, Name):
        return operands.named(side)
    check_quoted(side, other, _allowed_values(other))
    return _meaning(side)


def _allowed_values(other: Written) -> Collection[str]:
    """Return the values an operand may have when compared with ``other``, a field with a closed set of values."""
    name = other.name if isinstance(other, Name) else ""
    return ENTITY_TYPES if name == "entityType" else _WORDS.get(name, ("", ()))[1]


def _related(written: Comparison, left: Node | Operand | Nothing, right: Node | Operand | Nothing) -> Node:
    """Return the comparison of ``left`` and ``right``; that of ``==`` for ``!=``."""
    operator = "==" if written.operator == "!=" else written.operator
    if isinstance(left, Nothing) or isinstance(right, Nothing):
        return _absent(operator, left, right, written.at)
    if not isinstance(left, Operand) or not isinstance(right, Operand):
        return _same_truth(operator, left, right, written)
    if operator == "matches":
        return text_test(Test.MATCHES, left, right)
    _check_words(left, written.right, right)
    _check_words(right, written.left, left)
    if operator == "in":
        return comparison(Operator.EQ, left, right)
    return comparison(Operator(operator), left, right)


def _check_words(asked: Operand, written: Written, given: Operand) -> None:
    """Reject a value that a field can never have: the comparison would never hold."""
    if isinstance(asked.value, FieldValue) and isinstance(given.value, Literals):
        _check_known(asked.value.name, given.value.values, written)


def _check_known(field: str, given: Iterable[object], written: Written) -> None:
    what, known = _WORDS.get(field, ("", ()))
    for value in given if known else ():
        if isinstance(value, str) and value not in known:
            raise unknown(what, value, _place_in(written, value), known)


def _place_in(written: Written, value: str) -> Position:
    """Return the position of ``value`` in a literal or a list of them."""
    words = written.words if isinstance(written, LiteralList) else ()
    return next((word.at for word in words if word.value == value), written.at)


def _absent(operator: str, left: Node | Operand | Nothing, right: Node | Operand | Nothing, at: Position) -> Node:
    """Return "it is missing", for a comparison with null."""
    if operator != "==":
        raise refused(f"null cannot be used with {operator}", at, expected=("==", "!="))
    rest = [one for one in (left, right) if not isinstance(one, Nothing)]
    if not rest:
        return ALWAYS
    if not isinstance(rest[0], Operand) or rest[0].is_literal:
        return NEVER
    return negated(rest[0].guarded(Present(rest[0].value)))


def _same_truth(operator: str, left: Node | Operand, right: Node | Operand, written: Comparison) -> Node:
    """Return a condition compared with ``true`` or ``false``: ``isBot() == false``."""
    condition, other = (right, left) if isinstance(left, Operand) else (left, right)
    if operator != "==" or not isinstance(other, Operand) or other.kind is not Kind.BOOLEAN or not other.is_literal:
        if isinstance(written.left, Negation):
            raise refused("! binds tighter than a comparison; write !( … )", written.left.at, expected=("(",))
        raise refused("a condition can only be compared with true or false", written.at, expected=("true", "false"))
    assert not isinstance(condition, Operand)  # noqa: S101  # _related sends two operands elsewhere
    return condition if _truth(other) == ALWAYS else negated(condition)


def _called(written: Call) -> Node | Operand:
    if written.function in _OLD_AND_NEW:
        (paths,) = _arguments(written, ("path",))
        if len(paths) != 1:
            raise refused(f"{written.function} takes one path, as {call_of(written.function)}", written.at)
        return Operand(PathValue(_OLD_AND_NEW[written.function], (), paths[0]), Kind.ANY, written.at)
    function = FUNCTIONS.get(written.function)
    if function is None:
        raise unknown("function", written.function, written.at, (*FUNCTIONS, *_OLD_AND_NEW))
    arguments = _arguments(written, function.parameters)
    for name, texts, argument in zip(function.parameters, arguments, written.arguments, strict=False):
        _check_argument(function, name.rstrip("?+"), texts, argument)
    try:
        return function.asks(*arguments)
    except InvalidCondition as error:
        raise refused(error.message, written.at, expected=error.expected) from error


def _check_argument(function: Function, parameter: str, texts: tuple[str, ...], argument: Written) -> None:
    if ANY_PART not in texts and parameter in function.words:
        _check_known(function.words[parameter], texts, argument)
    for text in texts if parameter in function.checks else ():
        try:
            function.checks[parameter](text)
        except InvalidCondition as error:
            raise refused(error.message, _place_in(argument, text), expected=error.expected) from error


def _arguments(written: Call, parameters: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the arguments of a function, each a list of texts; a single text becomes a list of one."""
    if len(parameters) == 1 and parameters[0].endswith("+") and written.arguments:
        return [tuple(text for one in written.arguments for text in _texts(written.function, parameters[0], one))]
    required = sum(not name.endswith("?") for name in parameters)
    if not required <= len(written.arguments) <= len(parameters):
        wanted = f"{_in_words(parameters)}, as {call_of(written.function)}"
        if len(parameters) == 1 < len(written.arguments):
            wanted += "; write several in one list, {" + ", ".join(map(text_of, written.arguments)) + "}"
        raise refused(f"{written.function} takes {wanted}", written.at, expected=parameters)
    return [_texts(written.function, *one) for one in zip(parameters, written.arguments, strict=False)]


def _in_words(parameters: tuple[str, ...]) -> str:
    """Return what a function takes: ``statuses and suites``, ``categories, and if wanted operations, targets``."""
    needed = " and ".join(name.rstrip("+") for name in parameters if not name.endswith("?"))
    more = ", ".join(name.rstrip("?") for name in parameters if name.endswith("?"))
    return (f"{needed}, and optionally {more}" if more else needed) or "no arguments"


def _texts(function: str, parameter: str, argument: Written) -> tuple[str, ...]:
    if quoted(argument):
        raise not_quoted(f"{function} takes texts", argument)
    given = _meaning(argument)
    if parameter == TIMES and isinstance(given, Operand) and isinstance(given.value, Literals):
        return tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in given.value.values)
    if not isinstance(given, Operand) or not isinstance(given.value, Literals) or given.kind is not Kind.TEXT:
        raise not_quoted(f"{function} takes texts", argument)
    return tuple(str(value) for value in given.value.values)


def _method(written: Method) -> Node | Operand:
    if isinstance(written.of, Name) and written.of.name == operands.PERSON:
        return _asked(written)
    row = METHODS.get(written.name)
    if row is None:
        raise unknown("method", written.name, written.at, METHODS)
    wanted = () if row.takes is None else (row.takes,)
    if len(written.arguments) != len(wanted):
        says = f"{written.name} takes {row.takes or 'no arguments'}, as {method_of(written.name)}"
        raise refused(says, written.at, expected=wanted)
    of = operands.settled(_path(written.of))
    if of.is_literal:
        raise refused("a literal has no methods", of.at)
    for argument in written.arguments:
        check_quoted(argument, written.of)
    return row.asks(of, *(_operand(argument) for argument in written.arguments))


def _asked(written: Method) -> Node:
    """Return a condition on the recipient: ``user.follows(entity)``, ``user.isMemberOf('team')``."""
    if written.name not in RELATIONS:
        raise unknown("relation", written.name, written.at, RELATIONS)
    wanted = "the name of a team" if written.name == MEMBER else "entity"
    if len(written.arguments) != 1:
        says = f"user.{written.name} takes {wanted}, as {relation_of(written.name)}"
        raise refused(says, written.at, expected=(wanted,))
    (argument,) = written.arguments
    if written.name == MEMBER:
        teams = map(unquoted, _texts(f"user.{MEMBER}", "team", argument))
        return disjoined(*(Personal(question(MEMBER, team)) for team in teams))
    if not isinstance(argument, Name) or (argument.name != "entity" and argument.name not in ENTITY_TYPES):
        near = nearest(argument.name, ("entity", *ENTITY_TYPES)) if isinstance(argument, Name) else None
        raise refused(f"user.{written.name} takes {wanted}", argument.at, expected=(wanted,), suggestion=near)
    guard = ALWAYS if argument.name == "entity" else has("entityType", (argument.name,))
    return conjoined(guard, Personal(question(written.name)))
