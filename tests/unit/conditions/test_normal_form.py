"""Tests of the normal form: equivalent to the condition, and small."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tocsin.conditions.nodes import Has, Node
from tocsin.conditions.normal_form import ALWAYS, MAX_TERMS, NEVER, Conjunction, Fact, normal_form
from tocsin.logic import And, Constant, Not, Or

_leaves: SearchStrategy[Node] = st.builds(
    lambda field, values: Has(field, tuple(sorted(values))),
    st.sampled_from("fg"),
    st.sets(st.sampled_from("abc"), min_size=1),
) | st.builds(Constant, st.booleans())


def _several_of(inner: SearchStrategy[Node]) -> SearchStrategy[Node]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.builds(Not, inner) | st.builds(And, several) | st.builds(Or, several)


_nodes = st.recursive(_leaves, _several_of, max_leaves=8)
_worlds = st.sets(st.builds(Fact, st.sampled_from("fg"), st.sampled_from("abc")))


def _decides(node: Node, world: set[Fact]) -> bool:
    match node:
        case Constant(holds=holds):
            return holds
        case Not(operand=operand):
            return not _decides(operand, world)
        case And(operands=operands):
            return all(_decides(o, world) for o in operands)
        case Or(operands=operands):
            return any(_decides(o, world) for o in operands)
        case Has(field=field, values=values):
            return any(Fact(field, value) in world for value in values)
    raise AssertionError(node)


def _leads(conjunction: Conjunction, world: set[Fact]) -> bool:
    return all(group & world for group in conjunction.groups) and not conjunction.forbidden & world


@given(node=_nodes, world=_worlds)
def test_it_decides_what_the_condition_decides(node: Node, world: set[Fact]) -> None:
    form = normal_form(node)
    assert form is not None
    assert any(_leads(conjunction, world) for conjunction in form) == _decides(node, world)


def test_alternatives_stay_together_instead_of_multiplying_out() -> None:
    wide = And(tuple(Has(field, tuple("abcdefgh")) for field in "fghij"))
    form = normal_form(wide)
    assert form is not None
    assert len(form) == 1
    assert next(iter(form)).size() == 40


def test_a_contradiction_is_never_and_a_truism_always() -> None:
    test = Has("f", ("a",))
    assert normal_form(And((test, Not(test)))) == NEVER
    assert normal_form(Or((Constant(True), test))) == ALWAYS


def test_more_terms_than_allowed_give_no_form() -> None:
    assert normal_form(Has("f", tuple(f"{n:03}" for n in range(MAX_TERMS)))) is not None
    assert normal_form(Has("f", tuple(f"{n:03}" for n in range(MAX_TERMS + 1)))) is None
    pairs = tuple(Or((And((Has("f", (f"{n}",)), Has("g", (f"{n}",)))), Has("h", (f"{n}",)))) for n in range(20))
    assert normal_form(And(pairs)) is None
