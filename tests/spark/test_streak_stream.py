"""Tests of the streak query on both stores, against ``flow/once`` and the fold in Python."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine, delete
from tests.company import SmallCompany
from tests.serving import running_server
from tests.spark.test_match_stream import (
    FOLLOWERS_BELL,
    OWNERS_MAIL,
    expected_notifications,
    parts_of,
    pass_over_the_log,
    running,
    stored_notifications,
)
from tests.stores import ON_BOTH_STORES, store_url
from tests.waiting import until

from tocsin.clock import SystemClock
from tocsin.flow.match.plan import at_reports
from tocsin.jobs import match_stream
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.match_stream import MatchStreamParts
from tocsin.jobs.silences import SilenceParts, look
from tocsin.jobs.streak_stream import QUERY_NAME, read_through_of, supervised_query
from tocsin.jobs.supervision import QueryEnvironment, running_alongside
from tocsin.model.change import EventType
from tocsin.spark.session import interpreting_session
from tocsin.spark.streaks import streaks
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.alert_tables import match_result
from tocsin.store.database.tables import notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.outages import Waits
from tocsin.store.eventlog.reports import Reports

__all__ = ["store_url"]

pytestmark = pytest.mark.spark

RESOLVING = {"triggerType": "RealTime", "sendResolved": True}
ANAS = {"owners": [{"type": "user", "name": "ana"}]}


def streak_parts(spark: SparkSession, engine: Engine, checkpoint: Path, *, batch: int = 10_000) -> MatchStreamParts:
    first = parts_of(spark, engine, checkpoint, batch=batch)
    return replace(
        first,
        session=interpreting_session(spark),
        alerts=CurrentAlerts(QUERY_NAME, Subscriptions(engine), at_reports),
        read_through=read_through_of(engine),
    )


def following(
    spark: SparkSession, engine: Engine, checkpoint: Path, *, batch: int = 10_000
) -> AbstractContextManager[None]:
    return keeping(streak_parts(spark, engine, checkpoint, batch=batch), spark, engine, checkpoint)


def keeping(
    parts: MatchStreamParts, spark: SparkSession, engine: Engine, checkpoint: Path
) -> AbstractContextManager[None]:
    # The next query may use the same checkpoint: this one must have ended, however busy the machine is.
    query = supervised_query(parts)
    environment = QueryEnvironment(spark, Waits(engine), checkpoint.parent, SystemClock())
    return running_alongside(query, environment, ends_within_s=120)


def has_read_all_reports(engine: Engine) -> bool:
    return EventLog(engine).progress(QUERY_NAME) >= Reports(engine).newest()


def company_with_alerts(engine: Engine) -> SmallCompany:
    company = SmallCompany(engine)
    company.pipeline("etl", **ANAS)
    company.clock.advance(1_000)
    company.alert("began", [OWNERS_MAIL], "matchStatusTransition('Success','Failed')")
    company.alert("first", [OWNERS_MAIL], "firstFailure()")
    company.alert("third", [OWNERS_MAIL], "matchStatusInARow('Failed', 3)")
    company.alert("resolved", [OWNERS_MAIL, FOLLOWERS_BELL], "resolved()")
    company.alert("late", [OWNERS_MAIL], "noSuccessFor('3m')")
    return company


def names(engine: Engine) -> list[str]:
    """Return the names of the alerts that notified somebody, once per notification, sorted."""
    return sorted(str(reason["subscriptionName"]) for row in stored_notifications(engine).values() for reason in row[4])


@ON_BOTH_STORES
def test_a_pipeline_that_fails_three_times_and_recovers_notifies_once_each(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = company_with_alerts(store_engine)
    company.alert("both", [FOLLOWERS_BELL, OWNERS_MAIL], "matchStatusInARow('Failed', 3)", trigger=RESOLVING)
    company.alert("fifth", [OWNERS_MAIL], "matchStatusInARow('Failed', 5)", trigger=RESOLVING)
    company.alert("edits", [OWNERS_MAIL], "!resolved() && fieldChanged == 'description'")
    pass_over_the_log(store_engine, match_stream.QUERY_NAME, QUERY_NAME)
    with ExitStack() as queries:
        queries.enter_context(running(spark, store_engine, tmp_path / "match"))
        queries.enter_context(following(spark, store_engine, tmp_path / "streaks", batch=3))
        for status in ("Successful", "Failed", "Running", "Failed", "Failed", "Failed", "Successful", "Successful"):
            company.run("etl", "Pending" if status == "Running" else status)
        company.describe("orders", "what is no report is notified by the other query")
        until(lambda: has_read_all_reports(store_engine), within_s=120)
        log = EventLog(store_engine)
        until(lambda: log.progress(match_stream.QUERY_NAME) == log.readable_end(), within_s=120)
        until(lambda: log.progress(QUERY_NAME) == log.readable_end(), within_s=120)  # it has read what is no report
    assert stored_notifications(store_engine) == expected_notifications(company)
    assert names(store_engine) == ["began", "both", "both", "edits", "edits", "first", "late", "resolved", "third"]


def test_a_restart_goes_on_and_a_lost_checkpoint_comes_to_the_same(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    company = company_with_alerts(sqlite_engine)
    company.pipeline("other", **ANAS)
    for checkpoint, story in (
        ("first", ("Failed", "Failed")),
        ("first", ("Failed", "Successful")),
        ("second", ("Failed", "Failed")),
    ):
        for status in story:
            company.run("etl", status)
            company.run("other", status, at_ms=company.clock.now_ms() - 30_000)
        with following(spark, sqlite_engine, tmp_path / checkpoint):
            until(
                lambda: bool(stored_notifications(sqlite_engine)) and has_read_all_reports(sqlite_engine), within_s=120
            )
            if checkpoint == "second":  # progress never goes back: wait for the query itself to have come this far
                until(lambda: stored_notifications(sqlite_engine) == expected_notifications(company), within_s=120)
    assert stored_notifications(sqlite_engine) == expected_notifications(company)
    rows_by_entity = {row.entity_id: row.asDict() for row in streaks(spark, str(tmp_path / "second")).collect()}
    assert set(rows_by_entity) == {company.ids["etl"], company.ids["other"]}
    assert {(row["verdict"], row["length"], row["failures"]) for row in rows_by_entity.values()} == {("failed", 2, 2)}


@pytest.mark.parametrize("cut", [pytest.param("offsets/1", marks=pytest.mark.soak), "state/0/*/2.changelog"])
def test_a_cut_checkpoint_is_made_anew_from_the_log_and_reports_nothing_again(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path, cut: str
) -> None:
    company = company_with_alerts(sqlite_engine)
    checkpoint = tmp_path / "streak_stream"
    for story in (("Failed",), ("Failed",)):
        for status in story:
            company.run("etl", status)
        with following(spark, sqlite_engine, checkpoint):
            until(lambda: has_read_all_reports(sqlite_engine), within_s=120)
    before = stored_notifications(sqlite_engine)
    for file in checkpoint.glob(cut):
        file.write_bytes(file.read_bytes()[:3])
    with sqlite_engine.begin() as connection:  # a repeated notification would be written anew
        connection.execute(delete(notification))
        connection.execute(delete(match_result))
    company.run("etl", "Failed")
    with following(spark, sqlite_engine, checkpoint):
        until(lambda: has_read_all_reports(sqlite_engine), within_s=120)
    assert before | stored_notifications(sqlite_engine) == expected_notifications(company)
    assert not before.keys() & stored_notifications(sqlite_engine).keys()
    assert names(sqlite_engine) == ["third"]


def test_the_streak_of_what_is_gone_for_good_is_forgotten(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = company_with_alerts(store_engine)
    company.pipeline("other", **ANAS)
    with following(spark, store_engine, tmp_path / "checkpoint"):
        for name in ("etl", "other", "etl"):
            company.run(name, "Failed")
        until(lambda: has_read_all_reports(store_engine), within_s=120)
        before = EventLog(store_engine).readable_end()
        company.writes.delete("pipeline", company.key("etl"), actor=company.actor("ana"))  # it can be restored
        company.writes.delete("table", company.key("revenue"), actor=company.actor("ana"), hard=True)
        assert Reports(store_engine).newest() <= before, "nobody is woken for what has never reported"
        company.writes.delete("pipeline", company.key("etl"), actor=company.actor("ana"), hard=True)
        until(lambda: has_read_all_reports(store_engine), within_s=120)
    assert [row.entity_id for row in streaks(spark, str(tmp_path / "checkpoint")).collect()] == [company.ids["other"]]
    assert names(store_engine) == ["first", "first"], "that it is gone is for the other query to tell"


def test_an_alert_made_later_knows_what_was_reported_before_and_one_that_changes_takes_effect_at_once(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(sqlite_engine)
    company.pipeline("etl", **ANAS)
    for status in ("Failed", "Successful", "Failed", "Failed"):
        company.run("etl", status)
    company.clock.advance(1_000)
    company.alert("third", [OWNERS_MAIL], "matchStatusInARow('Failed', 3)")
    company.alert("earlier", [OWNERS_MAIL], "firstFailure() || resolved()")
    with following(spark, sqlite_engine, tmp_path / "checkpoint"):
        until(lambda: has_read_all_reports(sqlite_engine), within_s=120)
        assert stored_notifications(sqlite_engine) == {}, "nothing that happened before an alert notifies anybody"
        company.run("etl", "Failed")
        until(lambda: names(sqlite_engine) == ["third"], within_s=120)
        company.clock.advance(1_000)
        company.alert("third", [OWNERS_MAIL], "matchStatusInARow('Failed', 4)")
        company.run("etl", "Failed")
        until(lambda: names(sqlite_engine) == ["third", "third"], within_s=120)
        company.run("etl", "Failed")
        until(lambda: has_read_all_reports(sqlite_engine), within_s=120)
    assert names(sqlite_engine) == ["third", "third"]


def silence_parts(spark: SparkSession, company: SmallCompany, checkpoint: Path) -> SilenceParts:
    return SilenceParts(interpreting_session(spark), company.engine, str(checkpoint), company.clock)


def test_silence_is_noticed_once_for_each_time_that_somebody_asks_for_until_there_is_a_success(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(store_engine)
    for name in ("etl", "quiet", "gone"):
        company.pipeline(name, **ANAS)
    parts = silence_parts(spark, company, tmp_path / "checkpoint")
    company.alert("ten", [OWNERS_MAIL], "noSuccessFor('10m') && entityFullyQualifiedName.endsWith('.etl')")
    assert look(parts) == 0, "nothing was ever reported"
    with following(spark, store_engine, tmp_path / "checkpoint"):
        for name in ("etl", "gone"):
            company.run(name, "Successful")
        company.run("quiet", "Failed")
        until(lambda: has_read_all_reports(store_engine), within_s=120)
        company.writes.delete("pipeline", company.key("gone"), actor=company.actor("ana"))
        company.clock.advance(7 * 60_000)
        assert look(parts) == 0, "seven minutes are not ten"
        company.describe("orders", "no report: the query passes over it")
        until(lambda: EventLog(store_engine).lag(QUERY_NAME) == 0, within_s=120)
        company.clock.advance(3 * 60_000 - 1_000)
        assert look(parts) == 2, "one for what succeeded, one for what never did; none for what is deleted"
        assert look(parts) == 0, "though the streaks may not know of it yet"
        until(lambda: has_read_all_reports(store_engine), within_s=120)
        company.run("etl", "Failed")
        company.alert("twenty", [OWNERS_MAIL], "noSuccessFor({'10m','20m'})")
        until(lambda: has_read_all_reports(store_engine), within_s=120)
        company.clock.advance(10 * 60_000)
        assert look(parts) == 2
        until(lambda: has_read_all_reports(store_engine), within_s=120)
        company.run("etl", "Successful")
        until(lambda: has_read_all_reports(store_engine), within_s=120)
        company.clock.advance(5 * 60_000)
        assert look(parts) == 0
    assert stored_notifications(store_engine) == expected_notifications(company)
    assert names(store_engine) == ["ten", "twenty", "twenty"]
    event_types = [one.event.event_type for one in EventLog(store_engine).read(0, 1_000)]
    assert event_types.count(EventType.SLA_VIOLATION) == 4


_STORY = {
    "first failure": "firstFailure()",
    "third in a row": "matchStatusInARow('Failed', 3)",
    "resolved": "resolved()",
}


def _alert_over_http(name: str, condition: str) -> dict[str, object]:
    rules = [{"name": name, "effect": "include", "condition": condition}]
    destinations = [{"category": "Owners", "type": "ActivityFeed"}]
    filtering = {"resources": ["pipeline"], "rules": rules}
    return {"name": name, "alertType": "Notification", "filteringRules": filtering, "destinations": destinations}


@pytest.mark.soak
def test_the_same_story_over_http_rings_the_owners_bell_once_for_each_alert(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    """``tests/acceptance/test_truth.py`` stands for it: alerts on streaks over HTTP, and what is explained of them."""
    with running_server(sqlite_engine) as server, server.administrator() as administrator:
        olga_id, olga = server.person("olga")
        administrator.put("/services/pipelineServices", json={"name": "airflow", "serviceType": "Airflow"})
        owned_pipeline = {"name": "etl", "service": "airflow", "owners": [{"id": olga_id, "type": "user"}]}
        assert administrator.put("/pipelines", json=owned_pipeline).status_code == 201
        wrong = administrator.post("/events/subscriptions", json=_alert_over_http("wrong", "noSuccessFor('6 hours')"))
        assert wrong.status_code == 400 and "invalid duration" in wrong.text
        for name, condition in _STORY.items():
            response = administrator.post("/events/subscriptions", json=_alert_over_http(name, condition))
            assert response.status_code == 201, response.text
        parts = replace(streak_parts(spark, sqlite_engine, tmp_path / "checkpoint"), clock=SystemClock())
        with keeping(parts, spark, sqlite_engine, tmp_path / "checkpoint"):
            for status in ("Successful", "Failed", "Pending", "Failed", "Failed", "Successful"):
                report = {"timestamp": parts.clock.now_ms(), "executionStatus": status}
                answer = administrator.put("/pipelines/airflow.etl/status", json=report)
                assert answer.status_code in (200, 201), answer.text
            until(lambda: has_read_all_reports(sqlite_engine), within_s=120)
        with olga:
            inbox = olga.get(f"/users/{olga_id}/notifications").json()["data"]
        alert_names = [reason["subscriptionName"] for one in inbox for reason in one["reasons"]]
        assert sorted(alert_names) == sorted(_STORY)
        question = {"subscription": "resolved", "user": "olga"}
        why = administrator.get(f"/events/{inbox[0]['eventId']}/explain", params=question).json()
        assert "failuresBefore" in json.dumps(why)


def test_a_suite_is_not_silent_beside_its_tests(spark: SparkSession, sqlite_engine: Engine, tmp_path: Path) -> None:
    company = SmallCompany(sqlite_engine)
    company.test_case("orders")
    parts = silence_parts(spark, company, tmp_path / "checkpoint")
    company.alert("ten", [OWNERS_MAIL], "noSuccessFor('10m')")
    with following(spark, sqlite_engine, tmp_path / "checkpoint"):
        company.result("orders", "Success")
        until(lambda: has_read_all_reports(sqlite_engine), within_s=120)
        company.clock.advance(10 * 60_000)
        assert look(parts) == 1
