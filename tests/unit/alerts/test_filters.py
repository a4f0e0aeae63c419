"""Tests that upstream's named filters become valid conditions."""

from __future__ import annotations

import pytest

from tocsin.alerts.filters import FILTERS, rules_of
from tocsin.conditions.check import parse_and_check
from tocsin.errors import InvalidInput

TEXTS = ["a", 'b "quoted"', "it's", "c\\d"]


@pytest.mark.parametrize("name", FILTERS)
def test_every_filter_is_a_condition_of_the_language(name: str) -> None:
    texts = ["entityUpdated"] if name == "filterByEventType" else TEXTS
    arguments = [{"name": argument, "input": texts} for argument in FILTERS[name].arguments]
    (rule,) = rules_of([{"name": name, "effect": "include", "arguments": arguments}], "input.filters")
    parse_and_check(rule["condition"])
    unnamed = [{"input": texts} for _ in arguments]
    assert rules_of([{"name": name, "arguments": unnamed}], "input.filters") == [rule]


def test_arguments_go_by_their_names_not_by_their_order() -> None:
    arguments = [{"name": "testSuiteList", "input": ["s"]}, {"name": "testStatusList", "input": ["Failed"]}]
    (rule,) = rules_of([{"name": "GetTestCaseStatusUpdatesUnderSuite", "arguments": arguments}], "input.actions")
    assert rule["condition"] == "getTestCaseStatusIfInTestSuite({'Failed'}, {'s'})"


def test_a_filter_keeps_its_effect_and_its_prefix() -> None:
    bot_filter = {"name": "filterByUpdaterIsBot", "effect": "exclude", "prefixCondition": "OR"}
    assert rules_of([bot_filter], "input.filters") == [
        {
            "name": "filterByUpdaterIsBot",
            "displayName": "By a bot",
            "description": "A bot made the change",
            "effect": "exclude",
            "condition": "isBot()",
            "prefixCondition": "OR",
        }
    ]


@pytest.mark.parametrize(
    ("wrong_filter", "place", "says"),
    [
        ({"name": "byMood"}, "name", "valid values: filterBySource"),
        ({"name": "filterByFqm"}, "name", "did you mean filterByFqn?"),
        ({}, "name", "unknown filter None"),
        ({"name": "filterByFqn"}, "arguments", "filterByFqn needs the argument fqnList"),
        ({"name": "filterByFqn", "arguments": {}}, "arguments", "needs the argument fqnList"),
        ({"name": "filterByFqn", "arguments": 1}, "arguments", "must be a list"),
        ({"name": "filterByFqn", "arguments": ["a"]}, "arguments", "must be a list"),
        ({"name": "filterByFqn", "arguments": [{"input": "a"}]}, "arguments[0].input", "fqnList of filterByFqn"),
        ({"name": "filterByFqn", "arguments": [{"input": [1]}]}, "arguments[0].input", "at least one string"),
        (
            {"name": "filterByFqn", "arguments": [{"name": "fqnList", "input": []}]},
            "arguments[0].input",
            "at least one",
        ),
        ({"name": "filterByFqn", "arguments": [{"name": "fqn", "input": ["a"]}]}, "arguments[0].name", "fqnList?"),
        (
            {"name": "filterByEventType", "arguments": [{"input": ["entityUpdated", "entityUpdatd"]}]},
            "arguments",
            "unknown type of event 'entityUpdatd'; did you mean entityUpdated?",
        ),
        ({"name": "filterByUpdaterIsBot", "arguments": [{"input": ["a"]}]}, "arguments[0].name", "takes no argument"),
    ],
)
def test_what_is_wrong_has_its_place(wrong_filter: dict[str, object], place: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        rules_of([wrong_filter], "input.filters")
    assert caught.value.field == f"input.filters[0].{place}"
    assert says in caught.value.message
