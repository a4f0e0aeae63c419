"""Tests of the limit on the amount of an alert's rules."""

from __future__ import annotations

from typing import Any

import pytest

from tocsin.alerts.request import readable
from tocsin.errors import InvalidInput

LONG = f"matchAnyOwnerName({{{','.join(f'{chr(39)}{number:04}{chr(39)}' for number in range(500))}}})"
RULE = {"name": "r", "effect": "include", "condition": "matchAnyOwnerName({'a'})"}
UNREADABLE = {**RULE, "condition": "nothing like it("}
CHOSEN = {"name": "filterByTier", "effect": "include", "arguments": [{"name": "tierList", "input": ["Tier.Tier1"]}]}


def alert(**fields: Any) -> dict[str, Any]:
    destination = {"category": "Owners", "type": "ActivityFeed", "config": {}}
    return {"name": "mine", "alertType": "Notification", "destinations": [destination], **fields}


@pytest.mark.parametrize(
    "fields",
    [
        {"filteringRules": {"resources": ["table"], "rules": [UNREADABLE] * 101}},
        {"filteringRules": {"resources": ["table"], "actions": [UNREADABLE] * 101}},
        {"filteringRules": {"resources": ["table"], "rules": [{**RULE, "condition": f"{LONG}("}] * 30}},
        {"resources": ["table"], "input": {"filters": [{**CHOSEN, "name": "none"}] * 101}},
    ],
    ids=["rules", "actions", "characters", "filters"],
)
def test_more_rules_than_are_read_in_a_moment_are_refused_unread(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="at most"):
        readable(alert(**fields))


def test_as_many_rules_as_an_alert_may_have_are_read() -> None:
    read = readable(alert(filteringRules={"resources": ["table"], "rules": [RULE] * 100}))
    assert read.subscription.filtering_rules is not None
    assert len(read.subscription.filtering_rules.rules or ()) == 100
