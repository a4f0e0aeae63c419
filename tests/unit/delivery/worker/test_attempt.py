"""Tests of where a worker's messages lead."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, cast

from tests.unit.delivery.events import OWNER, dispatch

from tocsin.delivery.dispatch import Dispatch, Route
from tocsin.delivery.worker.attempt import ROUTE_AGE_S, RouteBook
from tocsin.model.subscription import Destination
from tocsin.store.catalogue.alerts.subscriptions import UnreadableError
from tocsin.store.outbox.addresses import Routes

D = Route(cast("Destination", "where it leads"))


class StoredRoutes:
    """Routes that note how they are read."""

    def __init__(self) -> None:
        self.readings: list[set[str]] = []

    def of_all(self, subscription_ids: Collection[str]) -> dict[str, dict[str, Route] | UnreadableError]:
        self.readings.append(set(subscription_ids))
        routes: dict[str, dict[str, Route] | UnreadableError] = {
            "a": {"d": D},
            "b": {"d": D},
            "c": {"d": D},
            "gone": {},
            "odd": ValueError("odd means nothing"),
        }
        return {one: routes[one] for one in subscription_ids}


def of_alerts(*alerts: str) -> Dispatch:
    return dispatch(reasons=tuple(OWNER.model_copy(update={"subscription_id": alert}) for alert in alerts))


async def test_routes_of_messages_that_begin_together_are_read_once() -> None:
    stored, now_s = StoredRoutes(), [0.0]
    book = RouteBook(cast("Routes", stored), lambda: now_s[0])
    together = await asyncio.gather(*(book.routes(of_alerts(*alerts)) for alerts in ("ab", "bc", "c")))
    assert together[0] == {("a", "d"): D, ("b", "d"): D}
    assert stored.readings == [{"a", "b", "c"}]
    assert await book.routes(of_alerts("a", "gone")) == {("a", "d"): D, ("gone", "d"): None}
    now_s[0] += ROUTE_AGE_S + 0.1
    await book.routes(of_alerts("a"))
    assert stored.readings[1:] == [{"gone"}, {"a"}]


async def test_an_alert_that_cannot_be_read_fails_only_its_own_messages() -> None:
    stored = StoredRoutes()
    book = RouteBook(cast("Routes", stored), lambda: 0.0)
    outcomes: list[Any] = await asyncio.gather(
        *(book.routes(of_alerts(one)) for one in ("a", "odd", "odd", "b")), return_exceptions=True
    )
    assert (outcomes[0], outcomes[3]) == ({("a", "d"): D}, {("b", "d"): D})
    for error in outcomes[1:3]:
        assert isinstance(error, ValueError)
    assert len(stored.readings) == 1
