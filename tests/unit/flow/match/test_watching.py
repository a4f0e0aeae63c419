"""Tests of which alerts watch an asset: the asset decides, and what an event brings may be anything."""

from __future__ import annotations

import pytest
from tests.unit.flow.match.test_remarks import alert

from tocsin.conditions.fields import derive
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.watching import select_watched
from tocsin.model.change import ChangeEvent, EventType, LoggedEvent

ORDERS = {
    "id": "t",
    "name": "orders",
    "fullyQualifiedName": "pg.shop.public.orders",
    "tags": [{"tagFQN": "Tier.Tier1"}],
    "owners": [{"type": "user", "name": "dana"}],
    "columns": [{"name": "email", "dataType": "TEXT"}],
}
EVENT = ChangeEvent(
    id="e",
    event_type=EventType.ENTITY_UPDATED,
    entity_type="table",
    entity_id="t",
    entity_fully_qualified_name="pg.shop.public.orders",
    timestamp=1,
    entity=ORDERS,
)
ASSET = LoggedEvent(0, EVENT, derive(EVENT, actor_is_bot=False))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("tier == 'Tier.Tier1'", True),
        ("tier == 'Tier.Tier2'", False),
        ("!matchAnyTag('Tier.Tier1')", False),
        ("matchAnyOwnerName('dana') && fieldChanged == 'columns'", True),
        ("matchAnyOwnerName('ben') && fieldChanged == 'columns'", False),
        ("matchAnyOwnerName('ben') || isBot()", True),
        ("eventType == 'entityDeleted'", True),
        ("eventType == 'userLogin'", False),
        ("entityFullyQualifiedName.startsWith('pg.shop.')", True),
        ("entityFullyQualifiedName.startsWith('mysql.')", False),
        ("matchAnySchema('public')", True),
        ("matchAnyEntityFqn({'pg.shop.public.orders'})", True),
        ("matchAnyEntityFqn({'pg.shop'})", True),
        ("matchAnyEntityFqn({'pg.shop.public.customers'})", False),
        ("testSuites == 'nightly'", False),
        ("testSuites == 'nightly' && testStatus == 'Failed'", True),
        ("matchAnySchema('mart')", False),
        ("entity.columns.name == 'email'", True),
        ("entity.columns.name == 'iban'", False),
        ("testStatus == 'Failed'", True),
        ("user.follows(entity)", True),
        ("false", False),
    ],
)
def test_the_asset_decides_and_the_event_may_be_any(condition: str, expected: bool) -> None:
    assert bool(select_watched(plan_of(alert(condition)), [ASSET])) is expected


def test_resources_decide_too() -> None:
    for resources, expected in ((("table",), True), (("all",), True), (("topic",), False), (("testCase",), False)):
        assert bool(select_watched(plan_of(alert("isBot()", resources=resources)), [ASSET])) is expected
    assert not select_watched(plan_of(alert("true").model_copy(update={"enabled": False})), [ASSET])
