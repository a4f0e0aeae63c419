"""Tests of grouping keys by lineage root, and of reasons that name it."""

from __future__ import annotations

from types import MappingProxyType

import pytest
from tests.drafts import EVENT, draft, reason

from tocsin.flow.schedule.decide import Timing
from tocsin.flow.schedule.messages import scheduled_notifications, without_asset
from tocsin.flow.schedule.roots import Root, RootsOfAlerts, by_root, naming_root, under_roots
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.subscription import GroupBy, Trigger

TIMINGS = {one.value: Timing(Trigger(group_by=one), 60_000) for one in GroupBy}
ROOT = GroupBy.LINEAGE_ROOT.value
REVENUE = EVENT._replace(entity_id="revenue", timestamp_ms=1)


def owner_reason(alert: str) -> Reason:
    return reason(alert, ReasonKind.OWNER)


def key(alert: str, roots: RootsOfAlerts = MappingProxyType({})) -> str | None:
    """Return the grouping key of a notification of an alert."""
    drafts = under_roots([draft("Email", alert, event=REVENUE)], roots)
    (notification,) = scheduled_notifications(drafts, TIMINGS, now_ms=1)
    return notification.slot.grouping_key


@pytest.mark.parametrize(
    ("alert", "expected"),
    [
        (ROOT, f"alert:{ROOT}|asset:orders"),
        ("asset", "alert:asset|asset:revenue"),
        ("alert", "alert:alert"),
        ("none", None),
    ],
)
def test_the_root_takes_the_asset_s_place_in_the_key_of_alerts_that_ask_for_it(alert: str, expected: object) -> None:
    assert key(alert, {ROOT: Root("orders", "pg.orders")}) == expected


def test_without_a_root_the_asset_is_the_group() -> None:
    assert key(ROOT) == f"alert:{ROOT}|asset:revenue"
    assert without_asset(f"alert:{ROOT}|asset:revenue") == f"alert:{ROOT}"


def test_only_alerts_that_ask_for_it_group_by_root() -> None:
    assert by_root(["asset", ROOT, "unknown"], TIMINGS) == [ROOT]


def test_reasons_of_these_alerts_name_the_root_upstream() -> None:
    first, second = naming_root([owner_reason(ROOT), owner_reason("asset")], {ROOT: Root("id", "pg.orders")})
    assert first.sentence() == f"you own it (alert {ROOT}; pg.orders failed first)"
    assert second == owner_reason("asset")
    hidden = first.model_copy(update={"downstream_of": ""})
    assert hidden.sentence() == f"you own it (alert {ROOT}; an asset upstream failed first)"
    assert naming_root([owner_reason(ROOT)], {ROOT: Root("id")}) == (owner_reason(ROOT),)
