"""Tests of the mistakes that an alert request hides: those that are refused once others are put right."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tocsin.alerts.mending import hidden_mistakes
from tocsin.alerts.request import readable
from tocsin.errors import Forbidden, InvalidInput

RIGHT: dict[str, Any] = {
    "name": "Right",
    "alertType": "Notification",
    "filteringRules": {"resources": ["table"], "rules": [{"effect": "include", "condition": "isBot()"}]},
    "trigger": {"triggerType": "Scheduled", "scheduleInfo": "Daily", "timezone": "Europe/Berlin"},
    "destinations": [
        {"category": "Users", "type": "Email", "config": {"receivers": ["dana"]}},
        {"category": "External", "type": "Webhook", "config": {"endpoint": "https://example.org/hook"}},
    ],
}

QUEUE = "GovernanceWorkflowChangeEvent"


def fields_told_of(request: dict[str, Any]) -> list[str | None]:
    """Return the fields of all that is told of a request, in order."""
    with pytest.raises(InvalidInput) as refused:
        readable(request)
    return [one.field for one in hidden_mistakes(refused.value, request, readable)]


def with_mistakes(**fields: Any) -> dict[str, Any]:
    return deepcopy(RIGHT) | fields


def test_mistakes_of_shape_hide_none_of_sense() -> None:
    request = with_mistakes(alertType="Notifcation", retries=-1, expires="soon", runbook="\x00")
    request["filteringRules"]["resources"] = ["tabel", "dashbord"]
    request["trigger"]["timezone"] = "localtime"
    request["destinations"][1]["config"]["endpoint"] = "ftp://example.org"
    assert sorted(map(str, fields_told_of(request))) == [
        "alertType",
        "destinations[1].config.endpoint",
        "expires",
        "filteringRules.resources[0]",
        "filteringRules.resources[1]",
        "retries",
        "runbook",
        "trigger.timezone",
    ]


@pytest.mark.parametrize(
    ("mistakes", "fields"),
    [
        # A queue is for one type of alert, but which type was meant is not known.
        ({"alertType": "Govern", "destinations": [{"category": "External", "type": QUEUE}]}, ["alertType"]),
        # A rule on the recipient makes receivers needless; what this one asks is not known.
        (
            {
                "filteringRules": {"resources": ["table"], "rules": [{"effect": "include", "condition": "isOwnr()"}]},
                "destinations": [{"category": "Users", "type": "Email"}],
            },
            ["filteringRules.rules[0].condition"],
        ),
        # Only a schedule has states; what was meant by this trigger is not known.
        (
            {
                "trigger": {"triggerType": "Scheduld"},
                "filteringRules": {
                    "resources": ["testCase"],
                    "rules": [{"effect": "include", "condition": "stillFailing()"}],
                },
            },
            ["trigger.triggerType"],
        ),
        ({"destinations": [{"category": "Nobody", "type": "Email", "config": {"receivers": 5}}]}, None),
    ],
)
def test_what_follows_from_a_mistake_is_not_told(mistakes: dict[str, Any], fields: list[str] | None) -> None:
    fields_told = fields_told_of(with_mistakes(**mistakes))
    assert fields_told == (fields or ["destinations[0].category", "destinations[0].config.receivers"])


def test_what_may_not_be_asked_ends_the_search() -> None:
    def refuse(request: dict[str, Any]) -> None:
        readable(request)
        raise Forbidden("not yours")

    error = InvalidInput("must be between 0 and 100", field="retries")
    assert [one.field for one in hidden_mistakes(error, with_mistakes(retries=-1), refuse)] == ["retries"]


def test_a_request_is_not_changed_by_the_search() -> None:
    request = with_mistakes(retries=-1, alertType="x")
    fields_told_of(request)
    assert request == with_mistakes(retries=-1, alertType="x")
