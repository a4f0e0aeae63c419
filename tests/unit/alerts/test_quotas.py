"""Tests of quotas per person, on values alone."""

from __future__ import annotations

import pytest

from tocsin.alerts.quotas import AlertAllowance, check_quotas
from tocsin.errors import InvalidInput
from tocsin.flow.match.plan_cost import PER_PERSON, PlanCost
from tocsin.model.entity import Document
from tocsin.settings import Settings

SETTINGS = Settings(
    destinations_per_alert=2,
    receivers_per_destination=2,
    external_destinations_per_person=2,
    external_mail_domains=("partner.example",),
)


def alert(*receivers: list[str], category: str = "External", **fields: object) -> Document:
    destinations = [{"category": category, "type": "Email", "config": {"receivers": many}} for many in receivers]
    return {"enabled": True, "destinations": destinations, **fields}


def refusal_of(document: Document, before: Document | None = None, **allowance: object) -> str | None:
    try:
        check_quotas(document, PlanCost(looks=1), before or {}, AlertAllowance(SETTINGS, **allowance))  # type: ignore[arg-type]
    except InvalidInput as refused:
        return refused.field
    return None


def test_an_address_is_a_users_or_in_an_open_domain() -> None:
    addresses = ["dana@acme.example", "bo@partner.example"]
    assert refusal_of(alert(addresses)) == "destinations[0].config.receivers"
    assert refusal_of(alert(addresses), user_addresses=frozenset(addresses[:1])) is None


def test_what_an_alert_had_before_may_stay() -> None:
    old = alert(["a@far.example", "b@far.example", "c@far.example"])
    assert refusal_of(old, old, other_external_count=9) is None
    assert refusal_of(alert([*old["destinations"][0]["config"]["receivers"], "d@far.example"]), old) is not None


def test_external_destinations_count_over_all_alerts() -> None:
    assert refusal_of(alert(["a"]), other_external_count=1) is None
    assert refusal_of(alert(["a"]), other_external_count=2) == "destinations"
    assert refusal_of(alert(["a"], category="Users"), other_external_count=2) is None


@pytest.mark.parametrize(("enabled", "field"), [(True, "filteringRules"), (False, None)])
def test_conditions_cost_over_all_alerts_that_are_enabled(enabled: bool, field: str | None) -> None:
    whole_cost = PlanCost(looks=PER_PERSON.looks)
    assert refusal_of(alert(enabled=enabled), other_costs=[whole_cost]) == field


def test_conditions_that_stay_are_not_counted_again() -> None:
    old = alert(filteringRules={"resources": ["table"]})
    assert refusal_of(old, old, other_costs=[PlanCost(looks=PER_PERSON.looks)]) is None
