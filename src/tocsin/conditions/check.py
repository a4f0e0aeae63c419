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
from tocsin.conditions.errors import refusal, unknown
from tocsin.conditions.event_aliases import ALIASES, with_meaning
from tocsin.conditions.examples import call_of, method_of, relation_of
from tocsin.conditions.fields import has
from tocsin.conditions.functions import FUNCTIONS, TIMES, Function
from tocsin.conditions.methods import METHODS, steps_on_values, text_test
from tocsin.conditions.missing_quotes import check_quoted, not_quoted, text_in_quotes
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
from tocsin.conditions.paths import unquote
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
    text_of,
)
from tocsin.errors import InvalidCondition
from tocsin.logic import ALWAYS, NEVER, Constant, conjunction_of, disjunction_of, leaves, negation_of, replace_leaves
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
    return replace_leaves(_condition(written), with_meaning)


def parse_and_check(text: str) -> Node:
    """Return the meaning of a condition's text: ``check(parse(text))``, if its patterns cost little together.

    Raises
    ------
    InvalidCondition : as ``check`` says, or its regular expressions could take too long together.
    """
    node = check(parse(text))
    tests = (leaf for leaf in leaves(node) if isinstance(leaf, TextTest))
    if sum(map(steps_on_values, tests)) > MAX_STEPS:
        raise refusal(
            f"the regular expressions of this condition could take more than {MAX_STEPS:,} steps together;"
            " simplify them",
            Position(1, 1),
        )
    return node


def _condition(written: Written) -> Node:
    """Return what must hold or not."""
    meaning = _meaning(written)
    if isinstance(meaning, Nothing):
        raise refusal("a condition cannot be null", meaning.at, expected=("true", "false"))
    return _truth(meaning) if isinstance(meaning, Operand) else meaning


def _truth(operand: Operand) -> Node:
    """Return the condition that a bare value is: that it is true."""
    if operand.is_literal and operand.kind is Kind.BOOLEAN and isinstance(operand.value, Literals):
        return Constant(operand.value.values == (True,))
    if operand.kind not in (Kind.BOOLEAN, Kind.ANY):
        raise refusal(
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
            return operands.literal_list(written)
        case Name() | PathStep():
            return operands.settle(_path(written))
        case Call():
            return _meaning_of_call(written)
        case Method():
            return _method(written)
        case Negation(operand=operand):
            return negation_of(_condition(operand))
        case Comparison():
            return _meaning_of_comparison(written)
        case Junction(operator=operator, operands=parts):
            join = conjunction_of if operator == "and" else disjunction_of
            return join(*(_condition(part) for part in parts))


def _path(written: Written) -> Operand:
    """Return a name, or steps from one, not yet settled."""
    match written:
        case PathStep(parent=parent):
            return operands.step(_path(parent), written)
        case Name():
            return operands.operand_named(written)
        case _:
            return _operand(written)


def _operand(written: Written) -> Operand:
    """Return a value; refuses conditions and null."""
    meaning = _meaning(written)
    if isinstance(meaning, Operand):
        return meaning
    raise refusal("expected a value, found a condition or null", written.at)


def _meaning_of_comparison(written: Comparison) -> Node:
    _check_negation(written)
    first_side, second_side = _side(written.left, written.right), _side(written.right, written.left)
    is_negative = written.operator == "!="
    node = _relate(written, first_side, second_side)
    return negation_of(node) if is_negative else node


def _check_negation(written: Comparison) -> None:
    """Refuse ``!eventType == 'a'``, which asks whether a text is not true, and means ``!(eventType == 'a')``."""
    if not isinstance(written.left, Negation) or not isinstance(written.left.operand, Name | PathStep):
        return
    operand = _meaning(written.left.operand)
    if isinstance(operand, Operand) and operand.kind not in (Kind.BOOLEAN, Kind.ANY):
        correction = text_of(Negation(replace(written, left=written.left.operand), written.left.at))
        raise refusal(f"! binds tighter than a comparison; write {correction}", written.left.at, expected=("(",))


def _side(side: Written, opposite: Written) -> Node | Operand | Nothing:
    """Return the meaning of one side of a comparison; compared with ``null``, a whole entity is a value, too."""
    is_about_null = isinstance(opposite, Word) and opposite.value is None
    if is_about_null and isinstance(side, Name):
        return operands.operand_named(side)
    check_quoted(side, opposite, _allowed_values(opposite))
    return _meaning(side)


def _allowed_values(opposite: Written) -> Collection[str]:
    """Return the values an operand may have when compared with ``opposite``, a field with a closed set of values."""
    name = opposite.name if isinstance(opposite, Name) else ""
    return ENTITY_TYPES if name == "entityType" else _WORDS.get(name, ("", ()))[1]


def _relate(written: Comparison, first_side: Node | Operand | Nothing, second_side: Node | Operand | Nothing) -> Node:
    """Return the comparison of ``first_side`` and ``second_side``; that of ``==`` for ``!=``."""
    operator = "==" if written.operator == "!=" else written.operator
    if isinstance(first_side, Nothing) or isinstance(second_side, Nothing):
        return _absent(operator, first_side, second_side, written.at)
    if not isinstance(first_side, Operand) or not isinstance(second_side, Operand):
        return _same_truth(operator, first_side, second_side, written)
    if operator == "matches":
        return text_test(Test.MATCHES, first_side, second_side)
    _check_words(first_side, written.right, second_side)
    _check_words(second_side, written.left, first_side)
    if operator == "in":
        return comparison(Operator.EQ, first_side, second_side)
    return comparison(Operator(operator), first_side, second_side)


def _check_words(operand: Operand, written: Written, literal: Operand) -> None:
    """Reject a value that a field can never have: the comparison would never hold."""
    if isinstance(operand.value, FieldValue) and isinstance(literal.value, Literals):
        _check_known(operand.value.name, literal.value.values, written)


def _check_known(field: str, values: Iterable[object], written: Written) -> None:
    noun, valid_words = _WORDS.get(field, ("", ()))
    for value in values if valid_words else ():
        if isinstance(value, str) and value not in valid_words:
            raise unknown(noun, value, _place_in(written, value), valid_words)


def _place_in(written: Written, value: str) -> Position:
    """Return the position of ``value`` in a literal or a list of them."""
    words = written.words if isinstance(written, LiteralList) else ()
    return next((word.at for word in words if word.value == value), written.at)


def _absent(operator: str, left: Node | Operand | Nothing, right: Node | Operand | Nothing, at: Position) -> Node:
    """Return "it is missing", for a comparison with null."""
    if operator != "==":
        raise refusal(f"null cannot be used with {operator}", at, expected=("==", "!="))
    values = [one for one in (left, right) if not isinstance(one, Nothing)]
    if not values:
        return ALWAYS
    if not isinstance(values[0], Operand) or values[0].is_literal:
        return NEVER
    return negation_of(values[0].with_guard(Present(values[0].value)))


def _same_truth(operator: str, left: Node | Operand, right: Node | Operand, written: Comparison) -> Node:
    """Return a condition compared with ``true`` or ``false``: ``isBot() == false``."""
    condition, constant = (right, left) if isinstance(left, Operand) else (left, right)
    if (
        operator != "=="
        or not isinstance(constant, Operand)
        or constant.kind is not Kind.BOOLEAN
        or not constant.is_literal
    ):
        if isinstance(written.left, Negation):
            raise refusal("! binds tighter than a comparison; write !( … )", written.left.at, expected=("(",))
        raise refusal("a condition can only be compared with true or false", written.at, expected=("true", "false"))
    assert not isinstance(condition, Operand)  # noqa: S101  # _related sends two operands elsewhere
    return condition if _truth(constant) == ALWAYS else negation_of(condition)


def _meaning_of_call(written: Call) -> Node | Operand:
    if written.function in _OLD_AND_NEW:
        (paths,) = _arguments(written, ("path",))
        if len(paths) != 1:
            raise refusal(f"{written.function} takes one path, as {call_of(written.function)}", written.at)
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
        raise refusal(error.message, written.at, expected=error.expected) from error


def _check_argument(function: Function, parameter: str, texts: tuple[str, ...], argument: Written) -> None:
    if ANY_PART not in texts and parameter in function.words:
        _check_known(function.words[parameter], texts, argument)
    for text in texts if parameter in function.checks else ():
        try:
            function.checks[parameter](text)
        except InvalidCondition as error:
            raise refusal(error.message, _place_in(argument, text), expected=error.expected) from error


def _arguments(written: Call, parameters: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the arguments of a function, each a list of texts; a single text becomes a list of one."""
    if len(parameters) == 1 and parameters[0].endswith("+") and written.arguments:
        return [tuple(text for one in written.arguments for text in _texts(written.function, parameters[0], one))]
    required = sum(not name.endswith("?") for name in parameters)
    if not required <= len(written.arguments) <= len(parameters):
        expectation = f"{_in_words(parameters)}, as {call_of(written.function)}"
        if len(parameters) == 1 < len(written.arguments):
            expectation += "; write several in one list, {" + ", ".join(map(text_of, written.arguments)) + "}"
        raise refusal(f"{written.function} takes {expectation}", written.at, expected=parameters)
    return [_texts(written.function, *one) for one in zip(parameters, written.arguments, strict=False)]


def _in_words(parameters: tuple[str, ...]) -> str:
    """Return what a function takes: ``statuses and suites``, ``categories, and if wanted operations, targets``."""
    required = " and ".join(name.rstrip("+") for name in parameters if not name.endswith("?"))
    optional = ", ".join(name.rstrip("?") for name in parameters if name.endswith("?"))
    return (f"{required}, and optionally {optional}" if optional else required) or "no arguments"


def _texts(function: str, parameter: str, argument: Written) -> tuple[str, ...]:
    if text_in_quotes(argument):
        raise not_quoted(f"{function} takes texts", argument)
    meaning = _meaning(argument)
    if parameter == TIMES and isinstance(meaning, Operand) and isinstance(meaning.value, Literals):
        return tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in meaning.value.values)
    if not isinstance(meaning, Operand) or not isinstance(meaning.value, Literals) or meaning.kind is not Kind.TEXT:
        raise not_quoted(f"{function} takes texts", argument)
    return tuple(str(value) for value in meaning.value.values)


def _method(written: Method) -> Node | Operand:
    if isinstance(written.receiver, Name) and written.receiver.name == operands.PERSON:
        return _recipient_condition(written)
    row = METHODS.get(written.name)
    if row is None:
        raise unknown("method", written.name, written.at, METHODS)
    expected_arguments = () if row.takes is None else (row.takes,)
    if len(written.arguments) != len(expected_arguments):
        says = f"{written.name} takes {row.takes or 'no arguments'}, as {method_of(written.name)}"
        raise refusal(says, written.at, expected=expected_arguments)
    operand = operands.settle(_path(written.receiver))
    if operand.is_literal:
        raise refusal("a literal has no methods", operand.at)
    for argument in written.arguments:
        check_quoted(argument, written.receiver)
    return row.asks(operand, *(_operand(argument) for argument in written.arguments))


def _recipient_condition(written: Method) -> Node:
    """Return a condition on the recipient: ``user.follows(entity)``, ``user.isMemberOf('team')``."""
    if written.name not in RELATIONS:
        raise unknown("relation", written.name, written.at, RELATIONS)
    expectation = "the name of a team" if written.name == MEMBER else "entity"
    if len(written.arguments) != 1:
        says = f"user.{written.name} takes {expectation}, as {relation_of(written.name)}"
        raise refusal(says, written.at, expected=(expectation,))
    (argument,) = written.arguments
    if written.name == MEMBER:
        teams = map(unquote, _texts(f"user.{MEMBER}", "team", argument))
        return disjunction_of(*(Personal(question(MEMBER, team)) for team in teams))
    if not isinstance(argument, Name) or (argument.name != "entity" and argument.name not in ENTITY_TYPES):
        near = nearest(argument.name, ("entity", *ENTITY_TYPES)) if isinstance(argument, Name) else None
        raise refusal(f"user.{written.name} takes {expectation}", argument.at, expected=(expectation,), suggestion=near)
    guard = ALWAYS if argument.name == "entity" else has("entityType", (argument.name,))
    return conjunction_of(guard, Personal(question(written.name)))
