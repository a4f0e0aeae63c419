"""Tests of incidents of alerts in the main streaming query: opened, resolved, and read by other alerts and tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.spark.test_match_stream import (
    DOWNSTREAM_BELL,
    OWNERS_MAIL,
    expected_notifications,
    has_caught_up,
    pass_over_the_log,
    running,
    stored_notifications,
)
from tests.waiting import until

from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.alerts.incidents import AlertIncidentFilter, AlertIncidentLog

pytestmark = pytest.mark.spark

MAIL = {"category": "External", "type": "Email", "config": {"receivers": ["ops@example.org"]}}
FAILED = "testStatus == 'Failed'"
BY_ROOT = {"triggerType": "RealTime", "groupBy": "lineageRoot"}


def test_failures_open_incidents_that_the_next_success_resolves(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(store_engine)
    company.pipeline("etl", owners=[{"type": "user", "name": "dia"}])
    company.clock.advance(1_000)
    company.alert("failed", [DOWNSTREAM_BELL], "pipelineStatus == 'Failed'", resources=("pipeline",))
    incidents = AlertIncidentLog(store_engine)

    def states() -> list[tuple[str, str]]:
        return [(one.name, one.status.value) for one in incidents.page(AlertIncidentFilter(), limit=10)]

    pass_over_the_log(store_engine, MATCH_STREAM)
    with running(spark, store_engine, tmp_path / "checkpoint", batch=1):
        for status in ("Failed", "Failed"):
            company.run("etl", status)
        until(lambda: has_caught_up(store_engine), within_s=120)
        assert states() == [("INC-1", "open")]
        company.run("etl", "Successful")
        company.describe("orders", "matches nothing")
        until(lambda: has_caught_up(store_engine), within_s=120)
        assert states() == [("INC-1", "resolved")]
    assert stored_notifications(store_engine) == expected_notifications(company), "the success notifies nobody"


@pytest.mark.postgres
def test_an_alert_is_held_back_while_one_that_it_depends_on_has_an_incident_upstream(
    spark: SparkSession, postgres_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(postgres_engine)
    company.pipeline("load")
    kinds = {"load": "pipeline", "orders": "table"}
    ends = {
        side: {"id": company.ids[name], "type": kinds[name]}
        for side, name in (("fromEntity", "load"), ("toEntity", "orders"))
    }
    company.writes.put_edge(ends, actor=SYSTEM)
    company.clock.advance(1_000)
    loads = company.alert("loads", [], "pipelineStatus == 'Failed'", resources=("pipeline",))
    company.alert("tables", [OWNERS_MAIL], "fieldChanged == 'description'", resources=("table",))
    link = {"op": "add", "path": "/dependsOn", "value": [{"id": loads, "type": "eventsubscription"}]}
    company.writes.patch("eventsubscription", company.key("tables"), [link], actor=SYSTEM)
    pass_over_the_log(postgres_engine, MATCH_STREAM)
    with running(spark, postgres_engine, tmp_path / "checkpoint", batch=1):
        company.run("load", "Failed")
        for text in ("one", "two"):
            company.describe("revenue", text, by="cem")
        until(lambda: has_caught_up(postgres_engine), within_s=120)
        (row,) = [row for row in stored_notifications(postgres_engine).values() if row[1] == "Email"]
        assert [reason["heldBy"] for reason in row[4]] == ["INC-1"]
        company.run("load", "Successful")
        company.describe("revenue", "three", by="cem")
        until(lambda: has_caught_up(postgres_engine), within_s=120)
    assert len([row for row in stored_notifications(postgres_engine).values() if row[1] == "Email"]) == 2


def test_tasks_of_one_micro_batch_know_the_incidents_of_each_other(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(store_engine)
    names = [f"rows_{number}" for number in range(20)]
    company.test_case("orders")
    for name in names:
        company.test_case("revenue", name)
    company.clock.advance(1_000)
    opening = company.alert("failing", [MAIL], FAILED, resources=("testCase",), trigger=BY_ROOT)
    company.alert("tables", [OWNERS_MAIL], "fieldChanged == 'description'", resources=("table",))
    link = {"op": "add", "path": "/dependsOn", "value": [{"id": opening, "type": "eventsubscription"}]}
    company.writes.patch("eventsubscription", company.key("tables"), [link], actor=SYSTEM)
    company.result("orders", "Failed")
    for name in names:  # more than a partition holds
        company.result("revenue", "Failed", name)
        company.describe("revenue", name, by="cem")
    with running(spark, store_engine, tmp_path / "checkpoint"):
        until(lambda: has_caught_up(store_engine), within_s=120)
    mail_reasons = [row[4][0] for row in stored_notifications(store_engine).values() if row[1] == "Email"]
    roots = [reason.get("downstreamOf") for reason in mail_reasons if reason["subscriptionName"] == "failing"]
    assert sorted(roots, key=str) == [None, *["pg.store.public.orders"] * len(names)]
    incidents = AlertIncidentLog(store_engine).page(AlertIncidentFilter(), limit=100)
    first = min(
        incidents, key=lambda one: one.opened_offset
    )  # numbers are those of the order in which tasks store them
    assert [reason["heldBy"] for reason in mail_reasons if reason["subscriptionName"] == "tables"] == [first.name]
