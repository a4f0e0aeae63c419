"""Tests of the mistakes of an alert request that are told beside the first one."""

from __future__ import annotations

from typing import Any

import pytest

from tocsin.alerts.mistakes import mistakes_beside
from tocsin.errors import InvalidInput

REQUEST: dict[str, Any] = {
    "filteringRules": {
        "rules": [
            {"name": "wrong", "condition": "fieldChangd == 'a'"},
            {"condition": "tags =="},
            {"condition": "user.isMemberOf('analysts')"},
            {"condition": "isBot()"},
        ],
        "actions": [{"condition": "tagz == 'a'"}],
    },
    "destinations": [
        {"category": "Users", "config": {"receivers": ["ann", "ben", "carl@example.org"]}},
        {"category": "Teams", "config": {"receivers": ["analysts"]}},
    ],
}
KNOWN = {(("user",), "ann"), (("team",), "analysts")}


def fields(error: InvalidInput, request: dict[str, Any] = REQUEST, known_names: Any = KNOWN) -> list[str | None]:
    return [one.field for one in mistakes_beside(error, request, known_names, lambda _: None)]


def test_wrong_conditions_and_names_that_nobody_has_are_told_with_their_places() -> None:
    assert fields(InvalidInput("must be a text", field="name")) == [
        "filteringRules.rules[0].condition",
        "filteringRules.rules[1].condition",
        "filteringRules.actions[0].condition",
        "destinations[0].config.receivers[1]",
    ]
    mistakes = mistakes_beside(InvalidInput(), REQUEST, KNOWN, lambda _: None)
    (last,) = [one for one in mistakes if "destinations" in str(one.field)]
    assert last.message == "unknown user 'ben'"


@pytest.mark.parametrize(
    "error",
    [
        InvalidInput("unknown field", field="filteringRules.rules[0].condition"),
        InvalidInput("x: unknown key; filteringRules.rules[0].condition: must be a text"),
    ],
)
def test_what_the_error_names_is_not_told_twice(error: InvalidInput) -> None:
    assert "filteringRules.rules[0].condition" not in fields(error)


def test_what_the_error_says_of_a_field_is_not_told_of_its_parts_again() -> None:
    rule = {"condition": "user.isMemberOf('ghosts')"}
    request = {"filteringRules": {"rules": [rule, {"condition": "user.isMemberOf('shades')"}], "actions": []}}
    error = InvalidInput("unknown team 'ghosts'", field="filteringRules")
    assert fields(error, request) == ["filteringRules.rules[1].condition"]
    elsewhere = InvalidInput("unknown team 'ghosts'", field="filteringRules.rules[1]")
    request["filteringRules"]["rules"] = [rule] * 11
    assert fields(elsewhere, request) == [f"filteringRules.rules[{at}].condition" for at in range(11) if at != 1]


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"filteringRules": [], "destinations": {}},
        {"filteringRules": {"rules": 1, "actions": [1, {}, {"condition": 2}]}, "destinations": [1, {"config": 1}]},
        {"destinations": [{"config": {"receivers": [1, None]}}, {"config": {"receivers": "x"}}]},
    ],
)
def test_malformed_parts_have_no_further_mistakes(request_: dict[str, Any]) -> None:
    assert fields(InvalidInput(), request_) == []
