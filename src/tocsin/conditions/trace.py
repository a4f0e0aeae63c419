"""Evaluation trace of a condition for one event: each part with its text, position, observed values and result.

``evaluate.holds`` decides each test; only the combination is reimplemented here, and generated cases compare the two.
Nothing is skipped: parts that short-circuit evaluation would not reach are traced as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tocsin.conditions.check import check
from tocsin.conditions.evaluate import holds, values
from tocsin.conditions.fields import CLOSURES
from tocsin.conditions.nodes import (
    FieldValue,
    Literals,
    Node,
    PathRoot,
    PathValue,
    Personal,
    Size,
    Value,
    innermost,
    plain_value,
    values_in,
)
from tocsin.conditions.syntax import Junction, Negation, Position, Written, literal_text, start_of, text_of
from tocsin.logic import leaves
from tocsin.model.change import LoggedEvent
from tocsin.model.inheritance import is_inherited


@dataclass(frozen=True)
class Seen:
    """Input of one test: the name as conditions write it, and its values; none: it was missing.

    ``is_inherited``: the asset has them from its container.
    """

    name: str
    values: tuple[object, ...]
    is_inherited: bool = False


@dataclass(frozen=True)
class Trace:
    """One part of a condition and its result.

    ``joined`` is ``and``, ``or`` or ``not`` for the combination of ``parts``, and None for a test, which has the
    values that it read as ``observations``. ``holds`` is None where the event alone does not decide it: it depends on
    the recipient.
    """

    text: str
    at: Position
    holds: bool | None
    joined: str | None = None
    parts: tuple[Trace, ...] = ()
    observations: tuple[Seen, ...] = ()


def trace_condition(written: Written, logged: LoggedEvent) -> Trace:
    """Return how ``written`` comes out for ``logged``.

    Raises
    ------
    InvalidCondition : it has no meaning, as ``check`` says
    """
    match written:
        case Negation(operand=operand):
            part = trace_condition(operand, logged)
            verdict = None if part.holds is None else not part.holds
            return Trace(text_of(written), written.at, verdict, "not", (part,))
        case Junction(operator=operator, operands=operands):
            parts = tuple(trace_condition(one, logged) for one in operands)
            verdict = _joined_verdict(operator, [part.holds for part in parts])
            return Trace(text_of(written), start_of(written), verdict, operator, parts)
        case _:
            node = check(written)
            is_open = any(isinstance(leaf, Personal) for leaf in leaves(node))
            verdict = None if is_open else holds(node, logged)
            return Trace(text_of(written), start_of(written), verdict, observations=tuple(values_read_by(node, logged)))


def _joined_verdict(operator: str, verdicts: Sequence[bool | None]) -> bool | None:
    """Return the verdict of verdicts joined by "and" or "or", if it does not depend on the open ones."""
    decisive = operator == "or"
    if decisive in verdicts:
        return decisive
    return None if None in verdicts else not decisive


def decisive(trace: Trace) -> Iterator[Trace]:
    """Yield the tests that made ``trace`` come out as it did: had they been otherwise, it could have been, too."""
    if trace.joined is None:
        yield trace
    is_one_enough = trace.joined == ("or" if trace.holds else "and")
    for part in trace.parts:
        if not is_one_enough or part.holds is trace.holds:
            yield from decisive(part)


def values_read_by(node: Node, logged: LoggedEvent) -> Iterator[Seen]:
    """Yield each value that the tests of ``node`` read, once, with its value in the event."""
    looked_at = dict.fromkeys(_source(value) for leaf in leaves(node) for value in values_in(leaf))
    for value in looked_at:
        if not isinstance(value, Literals):
            plain_values = tuple(map(_whole_number, values(value, logged)))
            yield Seen(
                _name(value), plain_values, is_inherited=bool(plain_values) and is_inherited(_key(value), logged.event)
            )


def _key(value: Value) -> str:
    """Return the key of the document in which a value is; empty for none."""
    match innermost(value):
        case FieldValue(name=name):
            return name
        case PathValue(root=PathRoot.ENTITY, steps=(str() as key, *_)):
            return key
        case _:
            return ""


def _whole_number(value: object) -> object:
    """Return a whole number as one: 2, not 2.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _source(value: Value) -> Value:
    """Return ``value`` as in the event; of a closure, the field that it is worked out from."""
    if isinstance(value, FieldValue):
        return FieldValue(CLOSURES.get(value.name, value.name))
    return plain_value(value)


def _name(value: Value) -> str:
    match plain_value(value):
        case FieldValue(name=name):
            return name
        case Size(value=inner):
            return f"{_name(inner)}.size()"
        case PathValue(root=root, steps=steps, change=change):
            start = root.value if root is PathRoot.ENTITY else f"{root.value}({literal_text(change)})"
            return start + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
        case _:
            return "literal"
