"""Tests of plans: combination of rules, and errors in rules."""

from __future__ import annotations

import pytest

from tocsin.conditions.check import parse_and_check
from tocsin.errors import InvalidCondition
from tocsin.flow.match.plan import at_reports, between_reports, plan_of
from tocsin.model.subscription import EventSubscription

Rule = dict[str, str]


def subscription(
    rules: list[Rule] | None = None, actions: list[Rule] | None = None, resource: str = "table", **keys: object
) -> EventSubscription:
    filtering = {"resources": [resource], "rules": rules or [], "actions": actions or []}
    wire = {"id": "1", "name": "a", "fullyQualifiedName": "a", "alertType": "Notification", "filteringRules": filtering}
    return EventSubscription.model_validate({**wire, **keys})


def rule(condition: str, **keys: str) -> Rule:
    return {"name": "r", "condition": condition, **keys}


def test_rules_chain_by_their_prefix_and_and_binds_tighter() -> None:
    rules = [
        rule("isBot()"),
        rule("tags == 'a'", prefixCondition="OR"),
        rule("tags == 'b'", prefixCondition="AND"),
    ]
    assert plan_of(subscription(rules)).node == parse_and_check("isBot() || tags == 'a' && tags == 'b'")


def test_the_first_rules_prefix_says_nothing() -> None:
    assert plan_of(subscription([rule("isBot()", prefixCondition="OR")])).node == parse_and_check("isBot()")


def test_a_rule_that_excludes_is_negated() -> None:
    rules = [rule("tags == 'a'"), rule("isBot()", effect="exclude")]
    assert plan_of(subscription(rules)).node == parse_and_check("tags == 'a' && !isBot()")


def test_rules_and_actions_must_both_hold() -> None:
    plan = plan_of(subscription([rule("isBot()"), rule("tags == 'a'", prefixCondition="OR")], [rule("owners == 'b'")]))
    assert plan.node == parse_and_check("(isBot() || tags == 'a') && owners == 'b'")


def test_no_rule_means_always() -> None:
    assert plan_of(subscription()).node is None
    assert plan_of(subscription([rule("true")])).node is None


def test_alerts_leave_out_types_of_events_that_they_do_not_name() -> None:
    of_users, run = ("userLogin", "userLogout"), "testSuiteRunCompleted"
    retention, incident_update, check = "retentionApplied", "alertIncidentUpdated", "scheduledCheck"
    reminder, of_requests = "incidentReminder", ("changeRequestAnswered", "changeRequestReminder")
    unnamed_types = {
        "topic": (*of_requests, check),
        "table": (incident_update, *of_requests, check, reminder),
        "user": (*of_users, *of_requests),
        "testSuite": (*of_requests, run, check),
        "all": (*of_users, incident_update, *of_requests, run, retention, check, reminder),
    }
    assert {name: plan_of(subscription(resource=name)).unnamed for name in unnamed_types} == unnamed_types
    login = [rule("eventType == 'userLogin' || isBot()")]
    assert plan_of(subscription(login, resource="user")).unnamed == ("userLogout", *of_requests)
    assert plan_of(subscription([], login, resource="all")).unnamed == (
        *("userLogout", incident_update, *of_requests, run, retention),
        *(check, reminder),
    )


def test_an_action_names_the_type_of_event_that_it_is_about() -> None:
    action = rule("matchTestResult({'Failed'})") | {"name": "GetTestSuiteStatusUpdates"}
    completed = "testSuiteRunCompleted"
    assert completed not in plan_of(subscription([], [action], resource="testSuite")).unnamed
    assert completed in plan_of(subscription([action], resource="testSuite")).unnamed


def test_a_subscription_without_filtering_rules_is_about_nothing() -> None:
    assert plan_of(subscription(filteringRules=None)).resources == ()


def test_a_wrong_condition_names_its_rule_and_place() -> None:
    with pytest.raises(InvalidCondition) as caught:
        plan_of(subscription([rule("isBot()")], [rule("true"), {"name": "schema", "condition": "tag == 'a'"}]))
    error = caught.value
    place = "filteringRules.actions[1].condition"
    assert error.message.startswith(f"{place}: Rule 'schema': Line 1, column 1: 'tag' is an entity type")
    assert (error.field, error.column, error.suggestion) == ("filteringRules.actions[1].condition", 1, "tags")


def test_the_place_of_a_rule_without_a_name_is_said_once() -> None:
    with pytest.raises(InvalidCondition) as caught:
        plan_of(subscription([{"condition": "tag == 'a'"}]))
    assert caught.value.message.startswith(
        "filteringRules.rules[0].condition: Line 1, column 1: 'tag' is an entity type"
    )


def test_what_asks_about_earlier_reports_is_matched_where_they_are_known_and_elsewhere_for_what_is_no_report() -> None:
    plain = plan_of(subscription([rule("tags == 'a'")]))
    always = plan_of(subscription())
    only = plan_of(subscription([rule("resolved()")], resource="pipeline"))
    either = plan_of(subscription([rule("resolved() || tags == 'a'")], resource="pipeline"))
    assert at_reports([plain, always, only, either]) == [only, either]
    separated = between_reports([plain, always, only, either])
    assert separated[:2] == [plain, always]
    assert [one.node for one in separated[2:]] == [parse_and_check("tags == 'a' && reportedAt == null")]


def test_a_disabled_alert_asks_for_no_look() -> None:
    rules = [rule("noSuccessFor('6h')")]
    assert plan_of(subscription(rules)).durations_ms == {21_600_000}
    assert plan_of(subscription(rules, enabled=False)).durations_ms == frozenset()
    assert plan_of(subscription()).durations_ms == frozenset()
