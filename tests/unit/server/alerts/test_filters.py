"""Do upstream's named filters become conditions that can be parsed?"""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from tocsin.conditions.check import checked
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.server.alerts.filters import CONDITIONS, rules_of

LATER = {"filterByMentionedName"}
ARGUMENT = {"name": "list", "input": ["a", 'b "quoted"', "it's", "c\\d"]}


@pytest.mark.parametrize("name", CONDITIONS)
def test_every_filter_is_a_condition_of_the_language(name: str) -> None:
    argument = {"name": "list", "input": ["entityUpdated"]} if name == "filterByEventType" else ARGUMENT
    (rule,) = rules_of([{"name": name, "effect": "include", "arguments": [argument, argument]}], "input.filters")
    with nullcontext() if name not in LATER else pytest.raises(InvalidCondition, match="not available in this version"):
        checked(rule["condition"])


def test_a_filter_keeps_its_effect_and_its_prefix() -> None:
    chosen = {"name": "filterByUpdaterIsBot", "effect": "exclude", "prefixCondition": "OR"}
    assert rules_of([chosen], "input.filters") == [
        {"name": "filterByUpdaterIsBot", "effect": "exclude", "condition": "isBot()", "prefixCondition": "OR"}
    ]


@pytest.mark.parametrize(
    ("chosen", "place"),
    [
        ({"name": "byMood"}, "input.filters[0].name"),
        ({}, "input.filters[0].name"),
        ({"name": "filterByFqn"}, "input.filters[0].arguments"),
        ({"name": "filterByFqn", "arguments": [{"input": "a"}]}, "input.filters[0].arguments"),
        ({"name": "filterByFqn", "arguments": [{"input": [1]}]}, "input.filters[0].arguments"),
        ({"name": "filterByFqn", "arguments": ["a"]}, "input.filters[0].arguments"),
    ],
)
def test_what_is_wrong_has_its_place(chosen: dict[str, object], place: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        rules_of([chosen], "input.filters")
    assert caught.value.field == place
