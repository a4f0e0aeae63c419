"""Tests that the server accepts the sample's alerts."""

from __future__ import annotations

from itertools import count
from uuid import UUID

import pytest

from tocsin.alerts.destinations import Receivers
from tocsin.alerts.request import check_alert, parse_alert
from tocsin.model.address import MASK
from tocsin.model.entity import Document
from tocsin.sample.alerts import alerts
from tocsin.sample.company import TEAMS

HOOK = "http://127.0.0.1:8586/hook"


def sample_alerts(home_url: str | None = HOOK) -> list[Document]:
    numbers = count(1)
    return alerts(home_url, lambda: str(UUID(int=next(numbers))))


@pytest.mark.parametrize("request_", sample_alerts(), ids=lambda request: str(request["name"]))
def test_the_server_takes_the_alert_as_it_is(request_: Document) -> None:
    sent = _with_key(request_)
    draft = parse_alert(sent, before=None, secrets=None, new_id=lambda: "unused")
    checked = check_alert(draft, Receivers(teams=frozenset(team.name for team in TEAMS)))
    assert {key: checked.document[key] for key in request_} == request_


def test_no_alert_goes_to_a_webhook_that_may_not_be_called() -> None:
    assert {one["name"] for one in sample_alerts()} - {one["name"] for one in sample_alerts(None)} == {"OrdersTable"}


def test_the_key_of_a_webhook_is_never_part_of_an_alert() -> None:
    keys = [
        destination["config"]["secretKey"]
        for alert in sample_alerts()
        for destination in alert["destinations"]
        if "secretKey" in destination["config"]
    ]
    assert keys == [MASK]


def test_owners_teams_and_a_webhook_are_notified() -> None:
    notified = {(one["category"], one["type"]) for alert in sample_alerts() for one in alert["destinations"]}
    assert notified == {
        ("Owners", "ActivityFeed"),
        ("Owners", "Email"),
        ("Teams", "Email"),
        ("External", "Webhook"),
    }


def _with_key(alert: Document) -> Document:
    """Return the alert as it is sent before its key is masked."""
    destinations = [
        {
            **destination,
            "config": destination["config"] | ({"secretKey": "s"} if "secretKey" in destination["config"] else {}),
        }
        for destination in alert["destinations"]
    ]
    return {**alert, "destinations": destinations}
