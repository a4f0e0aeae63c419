"""Tests of rules and named filters in one request: both count, one replaces the other, or the request is refused."""

from __future__ import annotations

import pytest

from tocsin.alerts.named_filters import with_rules
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document


def fqn_input(*fqns: str) -> Document:
    return {"filters": [{"name": "filterByFqn", "arguments": [{"name": "fqnList", "input": list(fqns)}]}]}


def rules(*conditions: str, **fields: object) -> Document:
    return {
        "resources": ["table"],
        "rules": [{"name": "r", "effect": "include", "condition": one} for one in conditions],
        **fields,
    }


def conditions_of(document: Document) -> list[str]:
    return [one["condition"] for one in document["filteringRules"].get("rules", ())]


OF_A = "matchAnyEntityFqn({'a'})"
BEFORE = with_rules({"resources": ["table"], "input": fqn_input("a")}, {})


def test_rules_without_conditions_take_those_of_the_input() -> None:
    completed = with_rules({"filteringRules": {"resources": ["table"]}, "input": fqn_input("a")}, {})
    assert (completed["filteringRules"]["resources"], conditions_of(completed), completed["input"]) == (
        ["table"],
        [OF_A],
        fqn_input("a"),
    )


def test_rules_that_say_the_same_are_kept_with_the_input() -> None:
    completed = with_rules({"filteringRules": rules(f" {OF_A} "), "input": fqn_input("a")}, {})
    assert (conditions_of(completed), completed["input"]) == ([f" {OF_A} "], fqn_input("a"))


@pytest.mark.parametrize("conflicting", [rules("isBot()"), rules(OF_A, "isBot()"), rules(actions=rules(OF_A)["rules"])])
def test_rules_that_say_something_else_are_refused(conflicting: Document) -> None:
    with pytest.raises(InvalidInput, match="send one of them") as caught:
        with_rules({"filteringRules": conflicting, "input": fqn_input("a")}, {})
    assert caught.value.field == "input"


def test_an_unknown_filter_is_refused_beside_rules_too() -> None:
    with pytest.raises(InvalidInput, match="unknown filter 'filterByNope'") as caught:
        with_rules({"filteringRules": rules(OF_A), "input": {"filters": [{"name": "filterByNope"}]}}, {})
    assert caught.value.field == "input.filters[0].name"


def test_resources_that_differ_from_the_rules_are_refused() -> None:
    with pytest.raises(InvalidInput, match="send one of them") as caught:
        with_rules({"filteringRules": rules(OF_A), "resources": ["topic"]}, {})
    assert caught.value.field == "resources"
    assert conditions_of(with_rules({"filteringRules": rules(OF_A), "resources": ["table"]}, {})) == [OF_A]


def test_what_is_sent_back_as_it_was_stays() -> None:
    assert with_rules(BEFORE, BEFORE) == BEFORE


def test_a_changed_input_is_compiled_anew() -> None:
    assert conditions_of(with_rules({**BEFORE, "input": fqn_input("b")}, BEFORE)) == ["matchAnyEntityFqn({'b'})"]


def test_rules_changed_by_hand_take_the_place_of_the_input() -> None:
    completed = with_rules({**BEFORE, "filteringRules": rules("isBot()")}, BEFORE)
    assert (conditions_of(completed), "input" in completed) == (["isBot()"], False)


def test_an_input_alone_keeps_the_resources() -> None:
    completed = with_rules({"input": fqn_input("b")}, BEFORE)
    assert (completed["filteringRules"]["resources"], conditions_of(completed)) == (
        ["table"],
        ["matchAnyEntityFqn({'b'})"],
    )


@pytest.mark.parametrize("empty", [{}, {"filters": [], "actions": []}, None])
def test_an_input_that_names_nothing_is_not_kept(empty: object) -> None:
    completed = with_rules({"filteringRules": rules(OF_A), "input": empty}, {})
    assert (conditions_of(completed), "input" in completed) == ([OF_A], False)
