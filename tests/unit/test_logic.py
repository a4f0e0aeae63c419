"""Tests of boolean formulas: they mean what their parts mean, and are simple."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tocsin.logic import (
    ALWAYS,
    NEVER,
    Algebra,
    And,
    Constant,
    Formula,
    Not,
    Or,
    conjunction_of,
    disjunction_of,
    fold,
    is_true,
    leaves,
    negation_of,
    operands_of,
    replace_leaves,
)


@dataclass(frozen=True, slots=True)
class Letter(Formula["Letter"]):
    """A leaf: true where the world holds it."""

    name: str


Letters = Formula[Letter]
World = frozenset[str]

A, B, C = map(Letter, "abc")
_TRUTH: Algebra[bool] = Algebra(bool, lambda part: not part, all, any)
_AS_WRITTEN: Algebra[Letters] = Algebra(Constant, Not, lambda parts: And(tuple(parts)), lambda parts: Or(tuple(parts)))


def _several_of(inner: SearchStrategy[Letters]) -> SearchStrategy[Letters]:
    several = st.lists(inner, max_size=4).map(tuple)
    return st.builds(Not, inner) | st.builds(And, several) | st.builds(Or, several)


_written: SearchStrategy[Letters] = st.recursive(
    st.sampled_from([A, B, C, ALWAYS, NEVER]) | st.builds(Constant, st.booleans()), _several_of, max_leaves=12
)
"""Formulas put together by hand, with whatever the constructors would have simplified."""

_worlds = st.frozensets(st.sampled_from("abc"))


def _rebuild(written: Letters) -> Letters:
    return replace_leaves(written, lambda leaf: leaf)


_formulas = _written.map(_rebuild)


def _is_in(leaf: Letter, world: World) -> bool:
    return leaf.name in world


def _decides(formula: Letters, world: World) -> bool:
    """The truth of a formula, part by part, nothing skipped."""
    match formula:
        case Constant(holds=holds):
            return holds
        case Letter(name=name):
            return name in world
        case Not(operand=operand):
            return not _decides(operand, world)
        case And(operands=operands):
            return False not in [_decides(one, world) for one in operands]
        case Or(operands=operands):
            return True in [_decides(one, world) for one in operands]
    raise AssertionError(formula)


@given(_written, _worlds)
def test_evaluation_and_folding_decide_what_the_parts_decide(written: Letters, world: World) -> None:
    decided = _decides(written, world)
    assert is_true(written, _is_in, world) is decided
    assert fold(written, _TRUTH, lambda leaf: _is_in(leaf, world)) is decided
    assert fold(written, _AS_WRITTEN, lambda leaf: leaf) == written


@given(_written, _worlds)
def test_a_simplified_formula_decides_the_same(written: Letters, world: World) -> None:
    assert _decides(_rebuild(written), world) is _decides(written, world)


@given(_written)
def test_a_simplified_formula_stays_as_it_is(written: Letters) -> None:
    formula = _rebuild(written)
    assert _rebuild(formula) == formula
    assert formula in (ALWAYS, NEVER) or _is_simple(formula)


def _is_simple(formula: Letters) -> bool:
    match formula:
        case Constant():
            return False
        case Not(operand=operand):
            return not isinstance(operand, Not) and _is_simple(operand)
        case And(operands=operands) | Or(operands=operands):
            is_flat = not any(type(one) is type(formula) for one in operands)
            return is_flat and 1 < len(operands) == len(set(operands)) and all(map(_is_simple, operands))
    return True


@given(_formulas)
def test_two_negations_are_none(formula: Letters) -> None:
    assert negation_of(negation_of(formula)) == formula


@given(st.lists(_formulas, max_size=4), _worlds)
def test_de_morgan(formulas: list[Letters], world: World) -> None:
    each_negated = [negation_of(one) for one in formulas]
    assert _decides(negation_of(conjunction_of(*formulas)), world) is _decides(disjunction_of(*each_negated), world)
    assert _decides(negation_of(disjunction_of(*formulas)), world) is _decides(conjunction_of(*each_negated), world)


@given(_written, _worlds)
def test_leaves_that_are_answered_leave_a_constant(written: Letters, world: World) -> None:
    assert replace_leaves(written, lambda leaf: Constant(leaf.name in world)) == Constant(_decides(written, world))


def test_what_is_certain_is_one_object() -> None:
    assert (
        conjunction_of()
        is conjunction_of(Constant(True), disjunction_of(A, ALWAYS))
        is negation_of(Constant(False))
        is ALWAYS
    )
    assert (
        disjunction_of()
        is disjunction_of(Constant(False), conjunction_of(A, NEVER))
        is negation_of(Constant(True))
        is NEVER
    )


def test_operands_keep_their_order_and_stand_once() -> None:
    formula = conjunction_of(B, conjunction_of(A, Not(C)), B, disjunction_of(C, A))
    assert formula == And((B, A, Not(C), Or((C, A))))
    assert list(leaves(formula)) == [B, A, C, C, A]
    assert operands_of(formula, And) == (B, A, Not(C), Or((C, A)))
    assert operands_of(formula, Or) == (formula,)


def test_no_leaf_is_asked_once_the_answer_is_certain() -> None:
    leaf_names: list[str] = []

    def holds(leaf: Letter, world: World) -> bool:
        leaf_names.append(leaf.name)
        return leaf.name in world

    assert not is_true(And((A, B, C)), holds, frozenset("ac"))
    assert is_true(Or((B, A, C)), holds, frozenset("ac"))
    assert "".join(leaf_names) == "abba"
