"""Tests of what a message shows of notifications that several alerts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.unit.delivery.events import OWNER, dispatch

from tocsin.delivery.dispatch import Dispatch, Share, selections

SHARED = Share(100)
OF_ADMINISTRATORS = Share(100, is_of_administrators=True)


def message_for(*alerts: Sequence[str], **shares: Share) -> Dispatch:
    """Return a message whose notifications each are for these alerts."""
    first = dispatch().first
    entries = (
        replace(
            first,
            notification_id=str(place),
            reasons=tuple(OWNER.model_copy(update={"subscription_id": one}) for one in of_entry),
        )
        for place, of_entry in enumerate(alerts)
    )
    return replace(dispatch(), entries=tuple(entries), shares=shares)


def counts(message: Dispatch, limit: int, alert: str) -> list[int]:
    """Return how many of an alert's notifications each selection shows."""
    return [
        sum(alert in {reason.subscription_id for reason in entry.reasons} for entry in entries)
        for entries in selections(message, limit)
    ]


def test_each_alert_shows_as_many_as_it_would_alone() -> None:
    message = message_for(*["ab"] * 8, a=SHARED, b=Share(2))
    assert len(next(selections(message, 20))) == 8
    assert len(next(selections(message_for(*["b"] * 8, b=Share(2)), 20))) == 2


def test_an_alert_that_gathers_by_asset_shows_as_many_of_each() -> None:
    message = message_for(*["ab"] * 4, a=Share(1, by_asset=True), b=Share(1))
    assets = ("orders", "orders", "revenue", "revenue")
    entries = zip(message.entries, assets, strict=True)
    by_asset = replace(
        message,
        entries=tuple(one.with_event(one.event.model_copy(update={"entity_id": asset})) for one, asset in entries),
    )
    assert [one.event.entity_id for one in next(selections(by_asset, 20))] == ["orders", "revenue"]


def test_what_is_told_with_another_alerts_notification_gives_way_as_late_as_its_own_alert() -> None:
    message = message_for("p", "p", "a", a=OF_ADMINISTRATORS, p=SHARED)
    first, second, part = message.entries
    folded = replace(message, entries=(replace(first, parts=(part,)), second))
    shown_ids = [[entry.notification_id for entry in entries] for entries in selections(folded, 2)]
    assert shown_ids == [["0", "1"], ["0"], ["0"], ["0"], []]


def test_many_of_one_alert_take_no_place_of_another() -> None:
    message = message_for(*["b"] * 1_000, *["ab"] * 8, a=SHARED, b=SHARED)
    assert counts(message, 20, "a")[0] == 8
    assert len(next(selections(message, 20))) == 28


def test_where_there_are_too_few_places_those_of_administrators_are_kept_the_longest() -> None:
    message = message_for(*["b"] * 30, *["a"] * 30, a=OF_ADMINISTRATORS, b=SHARED)
    assert counts(message, 20, "a") == [20, 20, 20, 20, 20, 20, 10, 5, 2, 1, 0]
    assert counts(message, 20, "b") == [20, 10, 5, 2, 1, 0, 0, 0, 0, 0, 0]


def test_otherwise_each_has_as_many() -> None:
    message = message_for(*["b"] * 30, *["a"] * 30, a=SHARED, b=SHARED)
    assert counts(message, 20, "a")[:6] == counts(message, 20, "b")[:6] == [20, 10, 5, 2, 1, 0]
