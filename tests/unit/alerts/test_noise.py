"""Tests of noise suggestions against their actual effect, on generated events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tocsin.alerts.noise import Fired, rule_shares, suggestions
from tocsin.conditions.check import parse_and_check
from tocsin.conditions.evaluate import holds
from tocsin.conditions.fields import derive
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.match_result import Firing
from tocsin.model.subscription import EventSubscription


def firing_of(number: int, notified: int = 1, opened: int = 0, *, is_bot: bool = False, **keys: Any) -> Fired:
    wire = {"id": str(number), "eventType": "entityUpdated", "entityType": "table", "entityId": "t", "timestamp": 7}
    event = ChangeEvent.model_validate({**wire, "userName": f"user{number}", **keys})
    logged = LoggedEvent(number, event, derive(event, actor_is_bot=is_bot))
    return logged, Firing(number, notified, notified, notified, opened)


def update_of(name: str) -> dict[str, Any]:
    return {"changeDescription": {"fieldsUpdated": [{"name": name}]}}


def tier(number: int) -> dict[str, Any]:
    return {"entity": {"tags": [{"tagFQN": f"Tier.Tier{number}"}]}}


def test_bots_and_one_user_that_make_most_of_it_are_named() -> None:
    log = [firing_of(n, is_bot=True, userName="crawler") for n in range(62)] + [firing_of(100 + n) for n in range(18)]
    counts = {one.condition: (one.saved_count, one.notified_count, one.opened_count) for one in suggestions(log)}
    assert counts["isBot() == false"] == (62, 80, 0)
    assert counts["!matchUpdatedBy('crawler')"] == (62, 80, 0)


def test_what_people_open_counts_against_a_suggestion() -> None:
    log = [firing_of(n, opened=1, is_bot=True) for n in range(40)] + [firing_of(100 + n) for n in range(40)]
    assert "isBot() == false" not in {one.condition for one in suggestions(log)}


def test_tiers_and_fields_that_nobody_opens() -> None:
    log = [firing_of(n, **tier(3), **update_of("columns.a.tags")) for n in range(9)]
    log += [firing_of(20, opened=1, **tier(1), **update_of("description"))]
    saved_counts = {one.condition: one.saved_count for one in suggestions(log)}
    assert saved_counts["matchAnyTier('Tier.Tier1')"] == 9
    assert saved_counts["!matchAnyFieldChange('columns')"] == 9
    assert "!matchAnyFieldChange('description')" not in saved_counts


def test_of_what_no_app_shows_nobody_opens_anything() -> None:
    def firing_in_no_app(number: int, name: str) -> Fired:
        logged, firing = firing_of(number, **update_of(name))
        return logged, replace(firing, app_count=0)

    log = [*(firing_in_no_app(n, "columns.a.tags") for n in range(9)), firing_in_no_app(20, "description")]
    says = {one.condition: one.says for one in suggestions(log)}
    assert says["!matchAnyFieldChange('columns')"] == "without changes of columns"


def test_suggestions_are_said_in_plain_words() -> None:
    log = [firing_of(n, eventType="entityUpdated", **update_of("extension")) for n in range(9)]
    log += [firing_of(20, eventType="entityCreated", **update_of("displayName"))]
    says = {one.condition: one.says for one in suggestions(log)}
    assert says["!matchAnyFieldChange('extension')"] == "without changes of custom properties, which nobody opens"
    assert says["eventType != 'entityUpdated'"] == "without changes of assets that exist"


def test_the_first_failure_only() -> None:
    def failure(number: int, failures: int) -> Fired:
        logged, firing = firing_of(number, entityType="testCase")
        facts = {**logged.derived, "testStatus": "Failed", "failures": failures}
        return LoggedEvent(logged.offset, logged.event, facts), firing

    saved_counts = {one.condition: one.saved_count for one in suggestions([failure(n, n) for n in range(1, 9)])}
    assert next(saved for condition, saved in saved_counts.items() if "firstFailure()" in condition) == 7


def test_every_suggestion_is_what_it_would_have_come_to() -> None:
    log = [
        firing_of(n, notified=n % 3 + 1, is_bot=n % 4 == 0, entityFullyQualifiedName=f"a.b.{n % 2}", **tier(n % 3))
        for n in range(60)
    ]
    for suggestion in suggestions(log):
        node = parse_and_check(suggestion.condition)
        spared = [firing for logged, firing in log if not holds(node, logged)]
        assert suggestion.saved_count == sum(firing.notified_count for firing in spared)
        assert suggestion.notified_count == sum(firing.notified_count for _, firing in log)
    assert suggestions([]) == []


def test_how_often_each_rule_held() -> None:
    rules = [{"condition": "isBot()", "name": "bots"}, {"condition": "tier == 'Tier.Tier1'", "prefixCondition": "OR"}]
    wire = {"id": "a", "name": "a", "fullyQualifiedName": "a", "alertType": "Notification"}
    filtering = {"resources": ["all"], "rules": rules}
    subscription = EventSubscription.model_validate({**wire, "filteringRules": filtering})
    log = [firing_of(1, is_bot=True), firing_of(2, is_bot=True, **tier(1)), firing_of(3, **tier(1))]
    assert [(one.name, one.held_count, one.examined_count) for one in rule_shares(subscription, log)] == [
        ("bots", 2, 3),
        (None, 2, 3),
    ]
