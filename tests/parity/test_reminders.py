"""Tests of reminders on both engines: an alert matches its own, as far as it asks about the asset and the recipient."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from tests.parity.engines import pairs_from_spark
from tests.parity.logged import event_at_offset

from tocsin.flow.match.local import accepted_answers, matches
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.model.alert_incident import reminder_key
from tocsin.model.change import LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.subscription import EventSubscription

pytestmark = pytest.mark.spark

HOURLY = {"triggerType": "RealTime", "repeatInterval": 3_600}
PLAIN = {"triggerType": "RealTime"}
TIER_1 = {"tags": [{"tagFQN": "Tier.Tier1"}], "name": "one", "entityLink": "<#E::table::acme.shop.public.orders>"}


def _reminder(offset: int, alerts: range, entity_type: str = "testCase", **entity: object) -> LoggedEvent:
    names = [reminder_key(str(number)) for number in alerts]
    change = {"fieldsAdded": [{"name": "incidentReminder", "newValue": {"name": "INC-7", "alerts": names}}]}
    return event_at_offset(
        offset,
        eventType="incidentReminder",
        entityType=entity_type,
        entityFullyQualifiedName=f"acme.shop.public.orders.{entity_type}",
        changeDescription=change,
        entity=TIER_1 | entity,
    )


ALL = range(50)
EVENTS = [
    _reminder(1, ALL),
    _reminder(2, range(0)),
    _reminder(3, ALL, tags=[]),
    _reminder(4, ALL, entity_type="pipeline"),
    event_at_offset(
        5,
        eventType="entityUpdated",
        entityType="testCase",
        entityFullyQualifiedName="acme.shop.public.orders.testCase",
        changeDescription={"fieldsUpdated": [{"name": "testCaseResult", "newValue": {"testCaseStatus": "Failed"}}]},
        entity=TIER_1 | {"testCaseResult": {"testCaseStatus": "Failed"}},
    ),
]
CASES: list[tuple[str, str, Document, set[int]]] = [
    ("testStatus == 'Failed'", "testCase", HOURLY, {1, 3, 5}),
    ("testStatus == 'Failed'", "testCase", PLAIN, {5}),
    ("testStatus == 'Failed'", "all", HOURLY, {1, 3, 4, 5}),
    ("testStatus == 'Failed'", "table", HOURLY, {1, 3, 5}),
    ("testStatus == 'Failed' && tier == 'Tier.Tier1'", "testCase", HOURLY, {1, 5}),
    ("testStatus == 'Failed' && !(tier == 'Tier.Tier1')", "testCase", HOURLY, {3}),
    ("firstFailure()", "testCase", HOURLY, {1, 3}),
    ("!(testStatus == 'Success') && entity.name == 'one' && !isBot()", "testCase", HOURLY, {1, 3, 5}),
    ("fieldChanged == 'testCaseResult' && testStatus == 'Failed'", "testCase", HOURLY, {1, 3, 5}),
    ("eventType == 'entityUpdated' && testStatus == 'Failed'", "testCase", HOURLY, {1, 3, 5}),
    ("entityFullyQualifiedName.endsWith('.testCase') && testStatus == 'Failed'", "testCase", HOURLY, {1, 3, 5}),
    ("entityFullyQualifiedName.endsWith('.other') && testStatus == 'Failed'", "testCase", HOURLY, set()),
    ("testStatus == 'Failed' || eventType == 'incidentReminder'", "testCase", HOURLY, {1, 3, 5}),
    ("eventType == 'incidentReminder'", "all", PLAIN, {1, 2, 3, 4}),
    ("tier == 'Tier.Tier1'", "testCase", PLAIN, {5}),
    ("testStatus == 'Failed' && user.follows(entity)", "testCase", HOURLY, {1, 3, 5}),
]


def _plan(number: int, condition: str, resource: str, trigger: Document) -> Plan:
    filtering = {"resources": [resource], "rules": [{"effect": "include", "condition": condition}]}
    wire = {"id": str(number), "name": "a", "fullyQualifiedName": "a", "alertType": "Notification"}
    return plan_of(EventSubscription.model_validate({**wire, "trigger": trigger, "filteringRules": filtering}))


PLANS = [_plan(number, *case[:3]) for number, case in enumerate(CASES)]


def test_both_engines_match_what_an_alert_reminds_of_itself(spark: SparkSession) -> None:
    expected = sorted((number, offset) for number, case in enumerate(CASES) for offset in case[3])
    local = sorted((number, one.offset) for number, plan in enumerate(PLANS) for one in EVENTS if matches(plan, one))
    assert local == expected
    assert sorted(pairs_from_spark(spark, PLANS, EVENTS)) == expected


def test_who_was_not_a_recipient_of_the_failure_is_none_of_the_reminder() -> None:
    (plan,) = (plan for plan, case in zip(PLANS, CASES, strict=True) if "follows" in case[0])
    assert accepted_answers(plan, EVENTS[0]) == accepted_answers(plan, EVENTS[4]) == 0b10
