"""Tests of alert types: what each may be about, how it may notify, and what it offers."""

from __future__ import annotations

import pytest

from tocsin.alerts.offers import GOVERNED, OBSERVED, RESOURCES, offers
from tocsin.alerts.request import readable
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.subscription import AlertType

BELL: Document = {"category": "Owners", "type": "ActivityFeed"}
MAIL: Document = {"category": "Owners", "type": "Email"}


def alert(kind: AlertType, *resources: str, destinations: tuple[Document, ...] = (BELL,)) -> Document:
    rules = {"resources": list(resources)}
    return {"name": "a", "alertType": kind.value, "filteringRules": rules, "destinations": list(destinations)}


@pytest.mark.parametrize(
    ("kind", "resources"),
    [
        (AlertType.NOTIFICATION, set(RESOURCES)),
        (AlertType.OBSERVABILITY, set(OBSERVED)),
        (AlertType.ACTIVITY_FEED, set(RESOURCES)),
        (AlertType.GOVERNANCE_WORKFLOW_CHANGE_EVENT, set(GOVERNED)),
        (AlertType.CUSTOM, set(RESOURCES)),
    ],
)
def test_an_alert_is_about_what_its_type_offers_and_nothing_else(kind: AlertType, resources: set[str]) -> None:
    assert {one["name"] for one in offers(kind)} == resources
    for resource in RESOURCES:
        if resource in resources:
            assert readable(alert(kind, resource)).subscription.alert_type is kind
            continue
        with pytest.raises(InvalidInput, match=f"{kind} alerts cannot be about {resource};") as caught:
            readable(alert(kind, *sorted(resources), resource))
        assert caught.value.field == f"filteringRules.resources[{len(resources)}]"


def test_activity_feed_alerts_notify_in_the_app_alone() -> None:
    with pytest.raises(InvalidInput, match="choose type ActivityFeed") as caught:
        readable(alert(AlertType.ACTIVITY_FEED, "table", destinations=(BELL, MAIL)))
    assert caught.value.field == "destinations[1].type"
    for kind in set(AlertType) - {AlertType.ACTIVITY_FEED}:
        assert readable(alert(kind, (*OBSERVED, *GOVERNED)[-1 if "Governance" in kind else 0], destinations=(MAIL,)))
