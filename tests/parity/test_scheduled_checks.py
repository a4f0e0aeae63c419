"""Tests of what scheduled checks find, on both engines: an alert matches those of its schedule because of a state."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from tests.parity.engines import pairs_from_spark
from tests.parity.logged import event_at_offset

from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.model.change import LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.subscription import EventSubscription, Trigger

pytestmark = pytest.mark.spark

EIGHT = {"triggerType": "Scheduled", "cronExpression": "0 0 8 * * ?"}
NINE = {"triggerType": "Scheduled", "cronExpression": "0 0 9 * * ?"}


def _check(offset: int, *states: str, trigger: Document, entity_type: str = "testCase") -> LoggedEvent:
    schedule_id = Trigger.model_validate(trigger).schedule_id
    fields = [{"name": one, "newValue": {"schedule": schedule_id, "asked": [3_600_000]}} for one in states]
    for field in fields:
        if field["name"] != "stillStale":
            field["newValue"] = {"schedule": schedule_id}
    change = {"fieldsAdded": fields}
    return event_at_offset(
        offset,
        eventType="scheduledCheck",
        entityType=entity_type,
        changeDescription=change,
        entity={"name": "one", "tags": [{"tagFQN": "Tier.Tier1"}]},
    )


EVENTS = [
    _check(1, "stillFailing", trigger=EIGHT),
    _check(2, "stillFailing", trigger=NINE),
    _check(3, "stillFailing", "stillStale", trigger=EIGHT),
    _check(4, "stillWithoutOwner", trigger=EIGHT, entity_type="table"),
    event_at_offset(
        5, eventType="entityUpdated", entityType="testCase", entity={"tags": [{"tagFQN": "Tier.Tier1"}], "name": "two"}
    ),
]
CASES: list[tuple[str, str, Document, set[int]]] = [
    ("stillFailing()", "testCase", EIGHT, {1, 3}),
    ("stillFailing()", "table", NINE, {2}),
    ("stillFailing() && tier == 'Tier.Tier1' && !isBot()", "all", EIGHT, {1, 3}),
    ("stillFailing() || tier == 'Tier.Tier1'", "all", NINE, {2, 5}),
    ("stillStale('1h')", "all", EIGHT, {3}),
    ("stillStale('30m')", "all", EIGHT, set()),
    ("stillWithoutOwner() || stillFailing() && stillStale('1h')", "all", EIGHT, {3, 4}),
    ("!stillFailing()", "all", EIGHT, {5}),
    ("tier == 'Tier.Tier1'", "all", EIGHT, {5}),
    ("eventType == 'scheduledCheck'", "all", {"triggerType": "RealTime"}, {1, 2, 3, 4}),
    ("entity.name == 'one' && stillFailing()", "testCase", EIGHT, {1, 3}),
]


def _plan(number: int, condition: str, resource: str, trigger: Document) -> Plan:
    filtering = {"resources": [resource], "rules": [{"effect": "include", "condition": condition}]}
    wire = {"id": str(number), "name": "a", "fullyQualifiedName": "a", "alertType": "Notification"}
    return plan_of(EventSubscription.model_validate({**wire, "trigger": trigger, "filteringRules": filtering}))


def test_both_engines_match_what_a_check_found_for_the_schedule_of_the_alert(spark: SparkSession) -> None:
    plans = [_plan(number, *case[:3]) for number, case in enumerate(CASES)]
    expected = sorted((number, offset) for number, case in enumerate(CASES) for offset in case[3])
    local = sorted((number, one.offset) for number, plan in enumerate(plans) for one in EVENTS if matches(plan, one))
    assert local == expected
    assert sorted(pairs_from_spark(spark, plans, EVENTS)) == expected
