"""Tests of the cost of plans: what grows with alerts is counted, and real alerts keep far below the limits."""

from __future__ import annotations

import pytest
from bench.matching_alerts import plans, plans_on_paths

from tocsin.conditions.check import parse_and_check
from tocsin.errors import InvalidInput
from tocsin.flow.match.plan import Plan
from tocsin.flow.match.plan_cost import (
    IN_SUM,
    PER_ALERT,
    PER_PERSON,
    CostLimits,
    PlanCost,
    check_cost,
    cost_of,
    plans_left_out,
    total,
)
from tocsin.logic import disjunction_of


def _plan(*conditions: str, resources: tuple[str, ...] = ("table",)) -> Plan:
    return Plan("one", resources, disjunction_of(*map(parse_and_check, conditions)), created_at_ms=0)


def _kinds(count: int) -> list[str]:
    """Conditions of as many kinds of test."""
    tests = ("{} == 'a'", "{}.startsWith('a')", "{}.endsWith('a')", "{}.contains('a')", "{} > 3")
    paths = [f"entity.extension{'.x' * depth}" for depth in range(1, 25)]
    return [test.format(path) for path in paths for test in tests][:count]


def test_tests_that_differ_only_in_constants_and_names_are_of_one_kind() -> None:
    alike = [f"entity.columns[{n}].name == 'c{n}' && newValue('f{n}').contains('{n}')" for n in range(30)]
    assert len(cost_of(_plan(*alike)).shapes) == 2
    assert len(cost_of(_plan(*_kinds(17))).shapes) == 17


def test_tests_of_the_document_count_as_often_as_they_have_constants() -> None:
    assert cost_of(_plan("entity.columns.name == {'a','b','c'} || tags == 'x'")).document_tests == 3
    assert cost_of(_plan("entity.columns.size() > 3 && owners == 'x'")).document_tests == 1


@pytest.mark.parametrize(
    ("condition", "looks"),
    [
        (" || ".join(f"entity.columns.k == {n}" for n in range(100)), 1),
        (" && ".join(f"entity.columns.k != {n}" for n in range(100)), 1),
        (" && ".join(f"entity.columns.k.contains('{n}')" for n in range(100)), 2),
        (" && ".join(f"entity.columns.k.contains({n})" for n in range(100)), 100),
        (" && ".join(f"entity.columns.k > {n}" for n in range(100)), 100),
        (" || ".join(f"entity.columns.k{n} == 'x'" for n in range(100)), 100),
        (" && ".join(f"!(entity.columns.k{n} == 'x')" for n in range(100)), 100),
        ("(tags == 'a' || entity.columns.k == 1) && (owners == 'b' || !(entity.columns.k == 2))", 2),
        (" && ".join(f"entity.columns.contains({n})" for n in range(100)), 100),
        (" && ".join(f"newValue('columns').k{n} == null" for n in range(100)), 100),
        ("entity.columns[3].name == 'a' && entity.name == 'b' && entity.columns.size() > 3", 2),
    ],
)
def test_looks_into_lists_count_by_path_and_by_what_cannot_share_one(condition: str, looks: int) -> None:
    assert cost_of(_plan(condition)).looks == looks


def test_patterns_count_by_their_steps() -> None:
    single_cost = cost_of(_plan("userName matches '[a-z]+-[a-z]+'")).pattern_steps
    assert (
        cost_of(_plan("userName matches '[a-z]+-[a-z]+'", "userId matches '[a-z]+-[a-z]+'")).pattern_steps
        == 2 * single_cost
    )
    assert single_cost > 0
    assert cost_of(_plan("entity.description matches '[a-z]+-[a-z]+'")).pattern_steps == 8 * single_cost
    assert cost_of(_plan("entity.columns.name matches '[a-z]+-[a-z]+'")).pattern_steps == 96 * single_cost


def test_patterns_of_the_documentation_may_be_asked_of_columns() -> None:
    check_cost(
        _plan("entity.columns.description matches '.*foo.*bar.*baz.*'", r"entity.columns.name matches '.*\.\w+_tmp'")
    )


def test_an_index_with_a_row_for_each_of_many_anchors_counts_what_every_row_repeats() -> None:
    ways = [f"tags == 't{n}' && owners == 'o{n}' && userName.startsWith('u{n}')" for n in range(45)]
    assert cost_of(_plan(*ways)).index_bytes > 5 * cost_of(_plan(*ways[:15])).index_bytes


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        (_kinds(41), "kinds of test"),
        ([f"entity.columns.k{n} == 'x'" for n in range(41)], "looks into lists"),
        ([f"entity.columns.dataLength > {n}" for n in range(500)], "tests of paths"),
        ([rf"{name} matches '\w+_\w+'" for name in ("userName", "userId", "service", "tier")], "regular expressions"),
        (
            [f"(tags == '{'t' * 600}{n}' && userName.startsWith('{'u' * 600}{n}'))" for n in range(45)],
            "bytes in the match index",
        ),
    ],
)
def test_an_alert_that_costs_too_much_is_refused_with_the_way_out(conditions: list[str], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        check_cost(_plan(*conditions))
    assert refused.value.message.endswith(".")


def test_ten_thousand_usual_alerts_are_far_from_the_limits() -> None:
    costs = [cost_of(plan) for plan in (*plans(1_000), *plans_on_paths(200))]
    assert not [one for one in costs if PER_ALERT.excess(one)]
    assert PER_PERSON.excess(total(costs[:50])) is None
    total_cost = total(costs)
    tenfold = PlanCost(
        total_cost.shapes,
        document_tests=10 * total_cost.document_tests,
        looks=10 * total_cost.looks,
        pattern_steps=10 * total_cost.pattern_steps,
        index_bytes=10 * total_cost.index_bytes,
    )
    assert IN_SUM.excess(tenfold) is None


LIMITS = CostLimits("All", shapes=13, document_tests=1_000, looks=1_000, pattern_steps=1, index_bytes=100_000)


def _usual(count: int) -> dict[str, PlanCost]:
    return {f"usual {n}": cost_of(_plan(f"owners == 'o{n}' && tags == 'x'")) for n in range(count)}


def test_those_are_left_out_that_have_most_of_what_is_exceeded() -> None:
    usual = _usual(20)
    large = {"large": PlanCost(usual["usual 1"].shapes, index_bytes=10_000)}
    hostile = {f"hostile {n}": cost_of(_plan(*_kinds(16)[8 * n :][:8])) for n in (0, 1)}
    creators = {name: name for name in (*usual, *large, *hostile)}
    dropped = plans_left_out({**usual, **large, **hostile}, creators, limits=LIMITS)
    assert len(dropped) == 1
    assert set(dropped) <= set(hostile)
    assert plans_left_out({**usual, **large}, creators, limits=LIMITS) == {}


@pytest.mark.parametrize("copies", [1, 2])
def test_a_share_is_no_smaller_when_it_is_spread_over_many_alerts_or_asked_for_twice(copies: int) -> None:
    unusual = {"unusual": cost_of(_plan("userName.endsWith('a')", "userId.startsWith('b')"))}
    usual = _usual(2)
    spread = {
        f"{person} {n} {copy}": cost_of(_plan(kind))
        for person, kinds in (("eve", _kinds(8)), ("mallory", _kinds(16)[8:]))
        for n, kind in enumerate(kinds)
        for copy in range(copies)
    }
    creators = {name: name.split()[0] for name in (*usual, *unusual, *spread)}
    dropped = plans_left_out({**usual, **unusual, **spread}, creators, limits=LIMITS)
    assert dropped.keys() <= spread.keys()
    assert LIMITS.exceeded_limit(total(cost for name, cost in spread.items() if name not in dropped)) is None


def test_alerts_of_administrators_go_last_and_those_of_tocsin_never() -> None:
    costs = {name: cost_of(_plan(*_kinds(40)[10 * n :][:10])) for n, name in enumerate(("eve", "root", "tocsin"))}
    assert list(plans_left_out(costs, {"eve": "eve"}, ["tocsin"], limits=LIMITS)) == ["eve", "root"]
    assert list(plans_left_out({"tocsin": cost_of(_plan(*_kinds(20)))}, {}, ["tocsin"], limits=LIMITS)) == []
