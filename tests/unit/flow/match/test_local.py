"""Tests of matching one event against one plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tocsin.conditions.check import parse_and_check
from tocsin.conditions.fields import derive
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import Plan
from tocsin.model.change import LATE, RECORDED, ChangeEvent, LoggedEvent


def logged_event(entity_type: str = "table", at_ms: int = 1000, **fields: object) -> LoggedEvent:
    event = ChangeEvent.model_validate(
        {
            "id": "1",
            "eventType": "entityUpdated",
            "entityType": entity_type,
            "entityId": "2",
            "timestamp": at_ms,
            **fields,
        }
    )
    return LoggedEvent(1, event, derive(event, actor_is_bot=False))


def plan(*resources: str, condition: str | None = None, at: tuple[int, int] = (0, 0), enabled: bool = True) -> Plan:
    """Return a plan that was made ``at`` an offset and a moment."""
    node = None if condition is None else parse_and_check(condition)
    return Plan("s", resources, node, at[1], enabled, since_offset=at[0])


@pytest.mark.parametrize(
    ("resources", "expected"),
    [((), False), (("all",), True), (("table",), True), (("dashboard", "table"), True), (("dashboard",), False)],
)
def test_resources_gate_the_type_of_entity(resources: tuple[str, ...], expected: bool) -> None:
    assert matches(plan(*resources), logged_event()) is expected


def test_what_happened_before_the_subscription_matches_nothing() -> None:
    assert not matches(plan("all", at=(2, 0)), logged_event(at_ms=1000))  # has offset 1
    assert matches(plan("all", at=(1, 1001)), logged_event(at_ms=1000))  # clocks decide nothing


def test_replayed_events_have_the_time_of_the_history() -> None:
    recorded = replace(logged_event(at_ms=1000), derived={RECORDED: True})
    assert not matches(plan("all", at=(1, 1001)), recorded)
    assert not matches(plan("all", at=(2, 1000)), recorded)
    assert matches(plan("all", at=(1, 1000)), recorded)


def test_a_report_of_what_was_before_the_alert_or_came_late_matches_nothing() -> None:
    run = {"fieldsUpdated": [{"name": "pipelineStatus", "newValue": {"executionStatus": "Failed", "timestamp": 400}}]}
    report = logged_event("pipeline", at_ms=1000, changeDescription=run)
    assert report.reported_at_ms == 400
    assert matches(plan("all", at=(1, 400)), report)
    assert not matches(plan("all", at=(1, 401)), report)
    assert not matches(plan("all"), replace(report, derived=report.derived | {LATE: True}))
    assert matches(plan("all", at=(1, 999)), logged_event("pipeline", at_ms=998)), (
        "what reports nothing has no such time"
    )


def test_a_disabled_subscription_matches_nothing() -> None:
    assert not matches(plan("all", enabled=False), logged_event())


def test_the_condition_decides_the_rest() -> None:
    assert matches(plan("all", condition="!isBot()"), logged_event())
    assert not matches(plan("all", condition="isBot()"), logged_event())


@pytest.mark.parametrize(
    ("entity_type", "about", "expected"),
    [
        ("table", None, True),
        ("databaseSchema", None, True),
        ("testCase", None, True),
        ("pipeline", None, False),
        ("thread", "table", True),
        ("thread", "pipeline", False),
    ],
)
def test_the_container_of_an_asset_follows_from_its_type_and_name(
    entity_type: str, about: str | None, expected: bool
) -> None:
    entity = {"entityRef": {"type": about}} if about else {}
    event = logged_event(entity_type, entityFullyQualifiedName="shop.sales.public", entity=entity)
    assert matches(plan("all", condition="matchAnyDatabase({'sales'})"), event) is expected
    assert matches(plan("all", condition="matchAnyDatabase('shop.sales')"), event) is expected
    assert not matches(plan("all", condition="matchAnyDatabase({'shop','public'})"), event)
