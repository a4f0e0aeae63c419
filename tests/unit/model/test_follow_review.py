"""Tests of what follows are worth a review, and of the advice to review them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from tocsin.model.follow_review import (
    ADVISED_FOLLOWS,
    NOISY_FROM,
    STALE_AFTER_MS,
    AssetFollow,
    Review,
    ToldCount,
    advice_on,
)

NOW_MS = 1_760_000_000_000
ORDERS = AssetFollow({"id": "t", "type": "table", "fullyQualifiedName": "a.b.c.orders"}, 1, NOW_MS, Decimal("0.3"))


@pytest.mark.parametrize(
    ("changed_ms", "last_told_ms", "entity_type", "is_stale"),
    [
        (NOW_MS - STALE_AFTER_MS, None, "table", False),
        (NOW_MS - STALE_AFTER_MS - 1, None, "table", True),
        (NOW_MS - STALE_AFTER_MS - 1, NOW_MS - STALE_AFTER_MS, "table", False),
        (1, 1, "table", True),
        (1, 1, "domain", False),
        (1, 1, "databaseSchema", False),
    ],
)
def test_a_follow_is_stale_when_nothing_has_happened_for_180_days(
    changed_ms: int, last_told_ms: int | None, entity_type: str, is_stale: bool
) -> None:
    reference = ORDERS.reference | {"type": entity_type}
    followed = replace(ORDERS, reference=reference, changed_ms=changed_ms, told_count=ToldCount(0, 0, last_told_ms))
    assert followed.is_worth(Review.STALE, NOW_MS) == is_stale


@pytest.mark.parametrize(
    ("count", "unread_count", "is_noisy"),
    [(NOISY_FROM, NOISY_FROM, True), (NOISY_FROM, NOISY_FROM - 1, False), (NOISY_FROM - 1, NOISY_FROM - 1, False)],
)
def test_a_follow_is_noisy_that_told_often_and_nothing_of_it_was_read(
    count: int, unread_count: int, is_noisy: bool
) -> None:
    followed = replace(ORDERS, told_count=ToldCount(count, unread_count, NOW_MS))
    assert followed.is_worth(Review.NOISY, NOW_MS) == is_noisy


def test_a_follow_of_what_is_deleted_is_gone() -> None:
    assert not ORDERS.is_worth(Review.GONE, NOW_MS)
    assert replace(ORDERS, reference=ORDERS.reference | {"deleted": True}).is_worth(Review.GONE, NOW_MS)


def test_advice_begins_above_a_hundred() -> None:
    assert advice_on(ADVISED_FOLLOWS) is None
    assert str(advice_on(1_200)).startswith("1,200 assets are followed; with more than 100 it is hard to see")
