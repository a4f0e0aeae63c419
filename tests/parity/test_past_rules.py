"""Tests of alerts whose names were others in earlier events, on both engines: offsets decide which rules count."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from tests.parity.engines import pairs_from_spark
from tests.parity.logged import event_at_offset

from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.model.change import LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.subscription import EventSubscription

pytestmark = pytest.mark.spark

CONDITIONS = [
    "matchAnyTag('{}')",
    "tags.startsWith('{}')",
    "!matchAnyTag('{}')",
    "entity.tags.tagFQN == '{}' && matchAnyOwnerName('ann')",
    "matchAnyTag('{}') && user.owns(entity)",
    "fieldChanged == 'description' && tags matches '{}.*'",
]
NAMES = ("T.A", "T.A", "T.B", "T.B", "T.C", "T.C")
"""What the tag was called in the events at the offsets from 1 on."""
OTHERS = ("T.B", "T.C", "T.A", "T.C", "T.A", "T.B")
"""What it was not."""


def _event(offset: int, tag: str) -> LoggedEvent:
    change = {"fieldsUpdated": [{"name": "description", "oldValue": "a", "newValue": "b"}]}
    entity = {"id": "1", "tags": [{"tagFQN": tag}], "owners": [{"id": "2", "type": "user", "name": "ann"}]}
    return event_at_offset(
        offset, eventType="entityUpdated", entityType="table", entity=entity, changeDescription=change
    )


def _rules(condition: str, name: str) -> Document:
    rule = {"name": "r", "effect": "include", "condition": condition.format(name)}
    return {"resources": ["table"], "rules": [rule]}


def _plan(number: int, condition: str) -> Plan:
    past = [
        {"untilOffset": 5, "rules": _rules(condition, "T.B")},
        {"untilOffset": 3, "rules": _rules(condition, "T.A")},
    ]
    wire = {"id": str(number), "name": "a", "fullyQualifiedName": "a", "alertType": "Notification", "pastRules": past}
    return plan_of(EventSubscription.model_validate({**wire, "filteringRules": _rules(condition, "T.C")}))


def test_each_event_is_asked_for_the_names_of_its_time_on_both_engines(spark: SparkSession) -> None:
    plans = [_plan(number, condition) for number, condition in enumerate(CONDITIONS)]
    for names, is_meant in ((NAMES, True), (OTHERS, False)):
        events = [_event(offset, name) for offset, name in enumerate(names, start=1)]
        expected_pairs = {
            (number, event.offset)
            for number, condition in enumerate(CONDITIONS)
            for event in events
            if is_meant is not condition.startswith("!")
        }
        assert {
            (n, event.offset) for n, plan in enumerate(plans) for event in events if matches(plan, event)
        } == expected_pairs
        assert set(pairs_from_spark(spark, plans, events)) == expected_pairs
