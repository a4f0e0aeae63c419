"""Tests of usage counts and ranks on both stores; and of deleting joins and profiles with their table."""

from __future__ import annotations

from functools import partial

import pytest
from sqlalchemy import Engine, func, select
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, company

from tocsin.catalogue.observations.joins import put_joins
from tocsin.catalogue.observations.profiles import put_profile
from tocsin.catalogue.observations.samples import put_sample
from tocsin.catalogue.observations.usage import day_number, day_text, report_usage
from tocsin.flow.capture.write import Record
from tocsin.model.stored import Key, Written
from tocsin.store.catalogue.observations.usage import Usage
from tocsin.store.database.observation_tables import attachment, entity_usage, series

_TODAY = day_number("2024-01-15")  # what the company's clock says


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


def _use(shop: Company, fqn: str, count: int, *, ago: int = 0, add: bool = False) -> Written:
    work = partial(report_usage, request={"date": day_text(_TODAY - ago), "count": count}, add=add)
    return shop.writes.on_entity("table", Key.by_name(fqn), work, actor=JANE)


def test_days_add_up(shop: Company, store_engine: Engine) -> None:
    for ago, count in ((0, 1), (6, 10), (7, 100), (29, 1000), (30, 10_000)):
        _use(shop, ORDERS, count, ago=ago)
    reader = Usage(store_engine)
    summary = reader.summaries([shop.ids["orders"]], _TODAY)[shop.ids["orders"]]
    assert [summary[key]["count"] for key in ("dailyStats", "weeklyStats", "monthlyStats")] == [1, 11, 1111]
    days = reader.of(shop.ids["orders"], _TODAY, 30)
    assert [one["date"] for one in days] == [day_text(_TODAY - ago) for ago in (0, 6, 7, 29)]
    assert days[-1]["monthlyStats"]["count"] == 11_000


def test_use_is_ranked_within_its_type(shop: Company, store_engine: Engine) -> None:
    for place, name in enumerate(("a", "b", "c")):
        shop.ids[name] = shop.writes.create("table", shop.table(name), actor=JANE).document["id"]
        _use(shop, f"{SCHEMA}.{name}", place)
    _use(shop, f"{SCHEMA}.a", 50, ago=3)

    def rank(record: Record) -> Written:
        record.transaction.usage.rank("table", _TODAY)
        return Written({}, None)

    shop.writes.within(rank, actor=JANE)
    summaries = Usage(store_engine).summaries([shop.ids[name] for name in ("a", "b", "c")], _TODAY)
    ranks = {key: [one[key]["percentileRank"] for one in summaries.values()] for key in ("dailyStats", "weeklyStats")}
    assert ranks == {"dailyStats": [0, 50, 100], "weeklyStats": [100, 0, 50]}


def test_an_event_has_old_and_new_value_and_no_other_entity_is_reported(shop: Company) -> None:
    end = shop.log.readable_end()
    _use(shop, ORDERS, 5)
    _use(shop, ORDERS, 2, add=True)
    _use(shop, ORDERS, 7)
    changes = [event.change_description for event in shop.events_after(end)]
    assert [change.paths() for change in changes if change] == [("usageSummary",)] * 2
    assert {event.entity_id for event in shop.events_after(end)} == {shop.ids["orders"]}


def test_a_hard_delete_takes_everything_along_and_a_soft_one_nothing(shop: Company, store_engine: Engine) -> None:
    _use(shop, ORDERS, 5)
    profile = {"tableProfile": {"timestamp": 1}, "columnProfile": [{"name": "id", "timestamp": 1}]}
    direct = [{"fullyQualifiedName": ORDERS, "joinCount": 1}]
    for work in (
        partial(put_profile, request=profile),
        partial(put_sample, sample={"columns": ["id"], "rows": [[1]]}),
        partial(put_joins, request={"startDate": day_text(_TODAY), "directTableJoins": direct}),
    ):
        shop.writes.on_entity("table", Key.by_name(ORDERS), work, actor=JANE)

    def rows() -> list[int]:
        with store_engine.connect() as connection:
            return [
                connection.execute(
                    select(func.count()).select_from(table).where(table.c.entity_id == shop.ids["orders"])
                ).scalar_one()
                for table in (entity_usage, series, attachment)
            ]

    assert rows() == [1, 2, 2]
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE)
    assert rows() == [1, 2, 3], "nothing goes, and the id of the deletion comes"
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE, hard=True, recursive=True)
    assert rows() == [0, 0, 0]
