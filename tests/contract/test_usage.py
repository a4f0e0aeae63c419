"""Tests of usage counts: per day, aggregated, ranked, and with events of the used asset only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from tests.contract.standards import problems
from tests.serving import Json, table

_ORDERS = "warehouse.shop.public.orders"


def _day(ago: int = 0) -> str:
    return (datetime.now(UTC).date() - timedelta(days=ago)).isoformat()


def _summary(client: httpx.Client, path: str) -> Json:
    answer = client.get(f"/{path}", params={"fields": "usageSummary"})
    assert answer.status_code == 200, answer.text
    return answer.json()["usageSummary"]


def test_counts_add_up_to_weeks_and_months(administrator: httpx.Client, orders: Json) -> None:
    for ago, count in ((0, 5), (3, 10), (20, 100), (40, 1000)):
        path = f"/usage/table/{orders['id']}"
        assert administrator.post(path, json={"date": _day(ago), "count": count}).status_code == 201
    summary = _summary(administrator, f"tables/{orders['id']}")
    assert problems("type/usageDetails.json", summary) == []
    counts = {key: summary[key]["count"] for key in ("dailyStats", "weeklyStats", "monthlyStats")}
    assert (counts, summary["date"]) == ({"dailyStats": 5, "weeklyStats": 15, "monthlyStats": 115}, _day())
    listed = administrator.get("/tables", params={"fields": "usageSummary"}).json()["data"]
    assert [one["usageSummary"] for one in listed] == [summary]


def test_a_post_replaces_and_a_put_adds_and_both_add_up_for_what_a_table_lies_in(
    administrator: httpx.Client, orders: Json
) -> None:
    path = f"/usage/table/name/{_ORDERS}"
    for method, count, expected in (("POST", 5, 5), ("POST", 7, 7), ("PUT", 3, 10), ("POST", 1, 1)):
        assert administrator.request(method, path, json={"date": _day(), "count": count}).status_code == 201
        assert _summary(administrator, f"tables/{orders['id']}")["dailyStats"]["count"] == expected
        for above in ("databases/name/warehouse.shop", "databaseSchemas/name/warehouse.shop.public"):
            assert _summary(administrator, above)["dailyStats"]["count"] == expected
    read = administrator.get(path, params={"days": 30}).json()
    assert problems("type/entityUsage.json", read) == []
    assert [one["dailyStats"]["count"] for one in read["usage"]] == [1]
    assert administrator.get(f"/usage/table/{orders['id']}", params={"date": _day(9)}).json()["usage"] == []


def test_use_is_reported_without_a_version_and_only_when_it_changed(administrator: httpx.Client, orders: Json) -> None:
    path = f"/usage/table/{orders['id']}"
    kinds = [administrator.post(path, json={"date": _day(), "count": 5}).json() for _ in range(2)]
    assert [one["eventType"] for one in kinds] == ["entityUpdated", "entityNoChange"]
    assert kinds[0]["changeDescription"]["fieldsAdded"][0]["name"] == "usageSummary"
    assert kinds[0]["currentVersion"] == orders["version"]


def test_ranks_are_worked_out_for_a_day(administrator: httpx.Client, orders: Json) -> None:
    tables = [orders, table(administrator, "more"), table(administrator, "most")]
    for place, ranked in enumerate(tables):
        administrator.post(f"/usage/table/{ranked['id']}", json={"date": _day(), "count": place * 10})
    assert administrator.post(f"/usage/compute.percentile/table/{_day()}").status_code == 201
    ranks = [_summary(administrator, f"tables/{one['id']}")["dailyStats"]["percentileRank"] for one in tables]
    assert ranks == [0, 50, 100]


def test_what_was_never_reported_was_never_used(administrator: httpx.Client, orders: Json) -> None:
    assert _summary(administrator, f"tables/{orders['id']}")["dailyStats"] == {"count": 0, "percentileRank": 0}
    assert "usageSummary" not in administrator.get(f"/tables/{orders['id']}").json()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("table/{id}", {"date": "2026-02-31", "count": 1}, 400),
        ("table/{id}", {"date": "2026-02-01", "count": -1}, 400),
        ("table/{id}", {"date": "2026-02-01", "count": 2**60}, 400),
        ("table/{id}", {"count": 1}, 400),
        ("spoon/{id}", {"date": "2026-02-01", "count": 1}, 400),
        ("user/{id}", {"date": "2026-02-01", "count": 1}, 400),
        ("table/00000000-0000-4000-8000-000000000000", {"date": "2026-02-01", "count": 1}, 404),
        ("compute.percentile/table/yesterday", {}, 400),
    ],
)
def test_malformed_usage_is_refused(
    administrator: httpx.Client, orders: Json, path: str, body: Json, status: int
) -> None:
    answer = administrator.post(f"/usage/{path.format(id=orders['id'])}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, status), answer.text
