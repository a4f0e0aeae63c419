"""Tests of log-ins and log-outs on both engines: only alerts whose conditions name them match."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from tests.parity.engines import pairs_from_spark
from tests.parity.logged import event_at_offset

from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.model.subscription import EventSubscription

pytestmark = pytest.mark.spark

EVENTS = [
    event_at_offset(1, eventType="userLogin", entityType="user", userName="ann"),
    event_at_offset(2, eventType="userLogout", entityType="user", userName="ann"),
    event_at_offset(3, eventType="entityUpdated", entityType="user", userName="ann"),
    event_at_offset(4, eventType="entityUpdated", entityType="table", userName="ann"),
]
CASES: list[tuple[str, str, str, set[int]]] = [
    ("all", "", "", {3, 4}),
    ("user", "", "", {3}),
    ("table", "", "", {4}),
    ("all", "eventType != 'entityDeleted'", "include", {3, 4}),
    ("all", "eventType == 'userLogin'", "include", {1}),
    ("user", "matchAnyEventType({'userLogin','userLogout'})", "include", {1, 2}),
    ("all", "eventType == 'userLogout' || entityType == 'table'", "include", {2, 4}),
    ("all", "eventType == 'userLogin'", "exclude", {3, 4}),
    ("all", "user.isMemberOf('Data') || eventType == 'userLogin'", "include", {1, 3, 4}),
    ("all", "eventType == 'userLogin' || matchUpdatedBy('ann')", "include", {1, 3, 4}),
]


def _plan(number: int, resource: str, condition: str, effect: str) -> Plan:
    rules = [{"name": "r", "condition": condition, "effect": effect}] if condition else []
    wire = {"id": str(number), "name": "a", "fullyQualifiedName": "a", "alertType": "Notification"}
    filtering = {"resources": [resource], "rules": rules}
    return plan_of(EventSubscription.model_validate({**wire, "filteringRules": filtering}))


def test_sessions_match_by_name_only_on_both_engines(spark: SparkSession) -> None:
    plans = [_plan(number, *case[:3]) for number, case in enumerate(CASES)]
    expected = {(number, offset) for number, case in enumerate(CASES) for offset in case[3]}
    assert {(n, one.offset) for n, plan in enumerate(plans) for one in EVENTS if matches(plan, one)} == expected
    assert set(pairs_from_spark(spark, plans, EVENTS)) == expected
