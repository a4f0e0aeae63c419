"""Tests of alerts on several resources on both engines: each action is about its own resource."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.parity.engines import pairs_from_spark
from tests.parity.logged import event_at_offset

from tocsin.alerts.filters import FILTERS
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.model.change import LoggedEvent
from tocsin.model.subscription import EventSubscription

pytestmark = pytest.mark.spark


def _change_of(offset: int, entity_type: str, *fields: str) -> LoggedEvent:
    changes = [{"name": field, "oldValue": "a", "newValue": "b"} for field in fields]
    entity = {"id": "1", "name": "orders", "fullyQualifiedName": "shop.orders"}
    described: dict[str, Any] = {"changeDescription": {"fieldsUpdated": changes}, "entity": entity}
    return event_at_offset(offset, eventType="entityUpdated", entityType=entity_type, **described)


EVENTS = [
    _change_of(1, "table", "columns"),
    _change_of(2, "topic", "messageSchema"),
    _change_of(3, "table", "messageSchema"),
    _change_of(4, "topic", "columns"),
    _change_of(5, "table", "columns", "owners"),
    _change_of(6, "topic", "owners"),
    _change_of(7, "dashboard", "owners"),
    _change_of(8, "table", "description"),
]
SCHEMAS = ("GetTableSchemaChanges", "GetTopicSchemaChanges")
CASES = [
    (("table", "topic"), SCHEMAS, "AND", {1, 2, 5}),
    (("table", "topic"), SCHEMAS, "OR", {1, 2, 5}),
    (("table",), SCHEMAS, "AND", {1, 5}),
    (("table", "topic"), (*SCHEMAS, "GetOwnershipChanges"), "AND", {5}),
    (("table", "topic"), (*SCHEMAS, "GetOwnershipChanges"), "OR", {1, 2, 5, 6}),
    (("table", "dashboard"), ("GetTableSchemaChanges", "GetOwnershipChanges"), "OR", {1, 5, 7}),
    (("table", "topic"), ("GetTableSchemaChanges",), "AND", {1, 4, 5}),
    (("all",), SCHEMAS, "AND", set()),
]


def _plan(number: int, resources: tuple[str, ...], names: tuple[str, ...], prefix: str) -> Plan:
    actions = [{"name": name, "condition": FILTERS[name].condition, "prefixCondition": prefix} for name in names]
    wire = {"id": str(number), "name": "a", "fullyQualifiedName": "a", "alertType": "Observability"}
    rules = {"resources": list(resources), "actions": actions}
    return plan_of(EventSubscription.model_validate({**wire, "filteringRules": rules}))


def test_each_action_is_about_its_own_resource_on_both_engines(spark: SparkSession) -> None:
    plans = [_plan(number, *case[:3]) for number, case in enumerate(CASES)]
    expected = {(number, offset) for number, case in enumerate(CASES) for offset in case[3]}
    assert {(n, one.offset) for n, plan in enumerate(plans) for one in EVENTS if matches(plan, one)} == expected
    assert set(pairs_from_spark(spark, plans, EVENTS)) == expected
