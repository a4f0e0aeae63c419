"""Boolean formulas over the leaves of a language: alert conditions, policy conditions and search queries.

``conjunction_of``, ``disjunction_of`` and ``negation_of`` simplify what they build: a constant stands alone, no operand
is of its parent's kind or repeated, and nothing is negated twice. A leaf is true or false; each language says when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Never, TypeVar

Leaf = TypeVar("Leaf")
Leaf_co = TypeVar("Leaf_co", covariant=True)
NewLeaf = TypeVar("NewLeaf")
Result = TypeVar("Result")
Context = TypeVar("Context")


class Formula(Generic[Leaf_co]):
    """What is true or false: a constant, a leaf (the languages' subclasses), or formulas negated or joined."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Constant(Formula[Never]):
    """Always or never."""

    holds: bool


@dataclass(frozen=True, slots=True)
class Not(Formula[Leaf_co]):
    """The operand does not hold."""

    operand: Formula[Leaf_co]


@dataclass(frozen=True, slots=True)
class And(Formula[Leaf_co]):
    """All operands hold."""

    operands: tuple[Formula[Leaf_co], ...]


@dataclass(frozen=True, slots=True)
class Or(Formula[Leaf_co]):
    """Some operand holds."""

    operands: tuple[Formula[Leaf_co], ...]


ALWAYS = Constant(True)
NEVER = Constant(False)


def conjunction_of(*operands: Formula[Leaf]) -> Formula[Leaf]:
    """Return the operands joined by "and"; the object ``ALWAYS`` or ``NEVER`` where that is certain."""
    return _join(operands, And, neutral=ALWAYS, decisive=NEVER)


def disjunction_of(*operands: Formula[Leaf]) -> Formula[Leaf]:
    """Return the operands joined by "or"; the object ``ALWAYS`` or ``NEVER`` where that is certain."""
    return _join(operands, Or, neutral=NEVER, decisive=ALWAYS)


def _join(
    operands: Iterable[Formula[Leaf]], kind: type[And[Leaf] | Or[Leaf]], *, neutral: Constant, decisive: Constant
) -> Formula[Leaf]:
    parts = dict.fromkeys(part for operand in operands for part in operands_of(operand, kind))
    parts.pop(neutral, None)
    if decisive in parts:
        return decisive
    return kind(tuple(parts)) if len(parts) > 1 else next(iter(parts), neutral)


def operands_of(formula: Formula[Leaf], kind: type[And[Leaf] | Or[Leaf]]) -> tuple[Formula[Leaf], ...]:
    """Return the operands of a formula of this kind; any other is the only one."""
    return formula.operands if isinstance(formula, kind) else (formula,)


def negation_of(operand: Formula[Leaf]) -> Formula[Leaf]:
    """Return the negation of ``operand``."""
    match operand:
        case Constant(holds=holds):
            return NEVER if holds else ALWAYS
        case Not(operand=inner):
            return inner
        case _:
            return Not(operand)


def leaves(formula: Formula[Leaf]) -> Iterator[Leaf]:
    """Yield every leaf of ``formula``, left to right."""
    match formula:
        case Constant():
            return
        case Not(operand=operand):
            yield from leaves(operand)
        case And(operands=operands) | Or(operands=operands):
            for operand in operands:
                yield from leaves(operand)
        case leaf:
            yield leaf  # type: ignore[misc]  # whatever is none of the above


def is_true(formula: Formula[Leaf], leaf_holds: Callable[[Leaf, Context], bool], context: Context) -> bool:
    """Return whether ``formula`` is true where ``leaf_holds(leaf, context)`` is the truth of its leaves.

    Asks left to right, until the answer is certain. It runs for every event and alert: ``type`` and a loop take a third
    of the time of ``match`` and generators.
    """
    if type(formula) is And or type(formula) is Or:
        decisive = type(formula) is Or
        for operand in formula.operands:
            if is_true(operand, leaf_holds, context) is decisive:
                return decisive
        return not decisive
    if type(formula) is Not:
        return not is_true(formula.operand, leaf_holds, context)
    if type(formula) is Constant:
        return formula.holds
    return leaf_holds(formula, context)  # type: ignore[arg-type]  # as above


@dataclass(frozen=True, slots=True)
class Algebra(Generic[Result]):
    """What constants, negations and junctions become in one interpretation of formulas."""

    constant: Callable[[bool], Result]
    negation: Callable[[Result], Result]
    conjunction: Callable[[Iterable[Result]], Result]
    disjunction: Callable[[Iterable[Result]], Result]


def fold(formula: Formula[Leaf], algebra: Algebra[Result], leaf: Callable[[Leaf], Result]) -> Result:
    """Return ``formula`` in ``algebra``, each leaf as what ``leaf`` makes of it."""

    def evaluate(part: Formula[Leaf]) -> Result:
        match part:
            case Constant(holds=holds):
                return algebra.constant(holds)
            case Not(operand=operand):
                return algebra.negation(evaluate(operand))
            case And(operands=operands):
                return algebra.conjunction(map(evaluate, operands))
            case Or(operands=operands):
                return algebra.disjunction(map(evaluate, operands))
            case _:
                return leaf(part)  # type: ignore[arg-type]  # as above

    return evaluate(formula)


_FORMULAS: Algebra[Any] = Algebra(  # Any: formulas over whatever leaves
    Constant, negation_of, lambda parts: conjunction_of(*parts), lambda parts: disjunction_of(*parts)
)


def replace_leaves(formula: Formula[Leaf], by: Callable[[Leaf], Formula[NewLeaf]]) -> Formula[NewLeaf]:
    """Return ``formula``, simplified, with every leaf replaced by what ``by`` makes of it."""
    return fold(formula, _FORMULAS, by)
