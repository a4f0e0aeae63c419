"""Tests of backtests: counts equal the pipeline's and ``flow/once``'s; cancellation stops the Spark jobs."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sqlalchemy import Engine
from tests.acceptance.earlier_features import handle_failures
from tests.company import STARTED_MS, SmallCompany
from tests.notifying import dependencies_of
from tests.soak import SOAK
from tests.spark.test_match_stream import (
    DOWNSTREAM_BELL,
    FOLLOWERS_BELL,
    HOOK,
    OWNERS_MAIL,
    has_caught_up,
    running,
    stored_notifications,
)
from tests.spark.test_streak_stream import company_with_alerts, following
from tests.spark.test_streak_stream import has_read_all_reports as streaks_caught_up
from tests.store.test_alert_incidents import handle_incident
from tests.store.test_incident_merging import ACKNOWLEDGE
from tests.store.test_reminders import HOUR_MS, look, notify, reminder_events
from tests.stores import ON_BOTH_STORES, store_url
from tests.waiting import until

from tocsin.clock import FixedClock, SystemClock
from tocsin.flow.eventlog.lake import ALWAYS, Window
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.streak import with_facts
from tocsin.flow.once import notifications_for
from tocsin.jobs.backtest import BacktestParts, backtest, without_hidden
from tocsin.jobs.lake import LakeParts, grow
from tocsin.jobs.requests import ReportProgress, Runner
from tocsin.model.backtest import JOB, Backtest
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.requested_job import JobState
from tocsin.model.stored import Key
from tocsin.model.subscription import alert_of
from tocsin.spark.lake import HistoryLocation, change_events, part, span_events
from tocsin.spark.match import index_of
from tocsin.spark.match import matches as matches_on_spark
from tocsin.spark.session import register_source
from tocsin.spark.sources import LogSource
from tocsin.store.catalogue.alerts.backtests import Backtests
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.firings import Firings

__all__ = ["store_url"]

pytestmark = pytest.mark.spark


@pytest.fixture
def history(spark: SparkSession, store_engine: Engine, tmp_path: Path) -> LakeParts:
    session = spark.newSession()
    register_source(session, LogSource)
    place = HistoryLocation(str(tmp_path / "lake"), store_engine.url.render_as_string(hide_password=False))
    return LakeParts(session, EventLog(store_engine), Lake(store_engine), place, FixedClock(STARTED_MS))


@pytest.fixture
def parts(history: LakeParts, store_engine: Engine) -> BacktestParts:
    return BacktestParts(history, store_engine, events_per_step=25)  # two steps


def backtest_of(
    company: SmallCompany,
    alert: Document,
    *,
    by: str = "admin",
    since_ms: int | None = None,
    until_ms: int | None = None,
) -> Backtest:
    return Backtest(
        "b0", company.ids[by], STARTED_MS, alert, state=JobState.WAITING, since_ms=since_ms, until_ms=until_ms
    )


def stored_alert(company: SmallCompany, name: str) -> Document:
    (stored,) = [one for one in Subscriptions(company.engine).list_enabled() if one.name == name]
    return stored.to_wire()


def ran(company: SmallCompany, parts: BacktestParts, alert: Document, **options: Any) -> Document:
    progress: list[tuple[int, int]] = []
    result = backtest(backtest_of(company, alert, **options), parts, lambda done, total: progress.append((done, total)))
    assert progress[0] == (0, progress[-1][1]) and progress[-1][0] == progress[-1][1]
    return result


def matches_in(result: Document) -> tuple[int, int]:
    return result["matched"], result["notifiedNobody"]


def counts_by_recipient(result: Document) -> Counter[tuple[str, str]]:
    who = [(one["channel"], one.get("id") or one.get("target"), one["notified"]) for one in result["recipients"]]
    return Counter({(channel, key): notified for channel, key, notified in who})


def by_oracle(company: SmallCompany, alert: Document) -> tuple[tuple[int, int], Counter[tuple[str, str]], int]:
    """Expected result of the Python engine for every event.

    Matches and how many of them notified nobody, notifications by (channel, recipient), and reasons merged away.
    """
    engine, subscription = company.engine, alert_of(alert, created_at_ms=0)
    dependencies = dependencies_of(engine, [subscription], FixedClock(STARTED_MS))
    earlier = Reports(engine).before
    log = [with_facts(plain, earlier(plain)) for plain in EventLog(engine).read(0, 10_000)]
    matched = [logged for logged in log if matches(plan_of(subscription), logged)]
    notifications_by_event = [notifications_for(logged, [subscription], dependencies) for logged in matched]
    drafts = [scheduled.draft for some in notifications_by_event for scheduled in some]
    notified = Counter((str(draft.channel), draft.recipient_id or draft.target) for draft in drafts)
    merged = sum(len(draft.reasons.in_order) - 1 for draft in drafts)
    return (len(matched), sum(not some for some in notifications_by_event)), notified, merged


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    small_company = SmallCompany(store_engine)
    small_company.put("user", {"name": "admin", "email": "admin@example.com", "isAdmin": True})
    small_company.clock.advance(1_000)
    small_company.alert(
        "schema", [OWNERS_MAIL, FOLLOWERS_BELL, HOOK], "fieldChanged == 'description'", resources=("table",)
    )
    small_company.alert("bell", [FOLLOWERS_BELL, DOWNSTREAM_BELL, {**OWNERS_MAIL, "config": {"sendToFollowers": True}}])
    users = {"category": "Users", "type": "Email", "config": {"receivers": ["ben", "cem", "dia"]}}
    small_company.alert("mine", [users], "user.follows(entity) || user.owns(entity)", "fieldChanged == 'description'")
    for number in range(20):
        small_company.describe(
            "orders" if number % 3 else "revenue", f"text {number}", by=("ana", "dia", "cem")[number % 3]
        )
        small_company.clock.advance(12 * 3_600_000)
    return small_company


@ON_BOTH_STORES
def test_it_counts_what_the_pipeline_stores_and_the_oracle_expects(
    spark: SparkSession, company: SmallCompany, parts: BacktestParts, tmp_path: Path
) -> None:
    with running(spark, company.engine, tmp_path / "checkpoint"):
        until(lambda: has_caught_up(company.engine), within_s=120)
    notes = stored_notifications(company.engine)
    grow(parts.history)
    company.describe("orders", "In the log alone.", by="dia")
    for name in ("schema", "bell", "mine"):
        alert = stored_alert(company, name)
        result = ran(company, parts, alert)
        match_counts, recipient_counts, merge_count = by_oracle(company, alert)
        assert (matches_in(result), counts_by_recipient(result), result["merged"]) == (
            match_counts,
            recipient_counts,
            merge_count,
        )
        assert sum(day["matched"] for day in result["perDay"]) == result["matched"]
        assert result["notified"] == recipient_counts.total() == sum(one["notified"] for one in result["channels"])
    before = company.clock.now_ms() - 1
    result = ran(company, parts, stored_alert(company, "schema"), until_ms=before)
    bell_offsets, schema_offsets = (
        {firing.log_offset for firing in Firings(company.engine).of(company.ids[name], 0, limit=1_000)}
        for name in ("bell", "schema")
    )
    shared_count = len(bell_offsets & schema_offsets)
    assert result["compared"] == result["matched"]
    assert {one["name"]: one["matched"] for one in result["overlaps"]}["bell"] == shared_count > 0
    assert "schema" not in {one["name"] for one in result["overlaps"]}
    of_alert = [row for row in notes.values() if any(reason["subscriptionName"] == "schema" for reason in row[4])]
    by_pipeline = Counter((row[1], row[3] or row[2].partition(":")[2]) for row in of_alert)
    assert counts_by_recipient(result) == by_pipeline
    assert result["assets"][0]["fullyQualifiedName"] == "pg.store.public.orders"
    assert len(result["perDay"]) == 10


def test_what_depends_on_earlier_reports_is_reported_as_it_would_have_been(
    company: SmallCompany, parts: BacktestParts
) -> None:
    company.pipeline("etl", owners=[{"type": "user", "name": "ana"}])
    for status in ("Failed", "Failed", "Successful"):
        company.run("etl", status)
    grow(parts.history)
    after_ms = company.clock.now_ms() + 1
    for status in ("Failed", "Pending", "Failed", "Failed"):
        company.run("etl", status)
    company.alert("streak", [OWNERS_MAIL, HOOK], "matchStatusInARow('Failed', {2,3}) || fieldChanged == 'description'")
    alert = stored_alert(company, "streak")
    everything, lately = ran(company, parts, alert), ran(company, parts, alert, since_ms=after_ms)
    match_counts, recipient_counts, merge_count = by_oracle(company, alert)
    assert (matches_in(everything), counts_by_recipient(everything), everything["merged"]) == (
        match_counts,
        recipient_counts,
        merge_count,
    )
    assert (everything["matched"], lately["matched"]) == (23, 2), (
        "what was reported before the window counts all the same"
    )


def test_reminders_and_what_people_do_to_incidents_count_as_they_were_told(
    company: SmallCompany, parts: BacktestParts
) -> None:
    company.alert("handled", [OWNERS_MAIL], "matchAnyEventType({'alertIncidentUpdated'})", resources=("pipeline",))
    handle_failures(company)
    grow(parts.history)
    assert look(company, after_ms=HOUR_MS) == 1
    handle_incident(company, "INC-1", ACKNOWLEDGE)
    notify(company)
    reminders = [one.id for one in reminder_events(company)]
    stored_rows = stored_notifications(company.engine).values()
    for name, own_reminders in (("hourly", reminders), ("handled", [])):
        alert = stored_alert(company, name)
        result = ran(company, parts, alert)
        match_counts, recipient_counts, merge_count = by_oracle(company, alert)
        assert (matches_in(result), counts_by_recipient(result), result["merged"]) == (
            match_counts,
            recipient_counts,
            merge_count,
        )
        own_rows = [row for row in stored_rows if any(reason["subscriptionName"] == name for reason in row[4])]
        assert result["notified"] == len(own_rows)
        assert [row[0] for row in own_rows if row[0] in reminders] == own_reminders


def test_a_window_narrows_it_and_samples_are_the_newest(company: SmallCompany, parts: BacktestParts) -> None:
    alert = stored_alert(company, "schema")
    since_ms = company.clock.now_ms() - 86_400_000
    everything, lately = ran(company, parts, alert), ran(company, parts, alert, since_ms=since_ms)
    assert 0 < lately["matched"] < everything["matched"]
    samples = lately["samples"]
    assert [one["timestamp"] for one in samples] == sorted((one["timestamp"] for one in samples), reverse=True)
    assert all(one["timestamp"] >= since_ms and "entity" not in one for one in samples)
    never = ran(company, parts, alert, since_ms=since_ms + 10**12)
    assert (never["events"], never["matched"], never["notifiedNobody"]) == (0, 0, 0)


def test_where_nobody_is_left_to_be_notified_that_is_what_is_counted(
    company: SmallCompany, parts: BacktestParts
) -> None:
    company.alert("unheard", [FOLLOWERS_BELL], "entityFullyQualifiedName == 'pg.store.public.revenue'")
    result = ran(company, parts, stored_alert(company, "unheard"))
    assert result["matched"] == result["notifiedNobody"] > 0
    assert (result["notified"], result["recipients"], result["channels"]) == (0, [], [])


def test_only_what_happened_in_the_window_counts_as_looked_at(company: SmallCompany, parts: BacktestParts) -> None:
    grow(parts.history)
    company.clock.advance(60_000)
    company.describe("orders", "In the log alone.", by="dia")
    log = EventLog(company.engine).read(0, 10_000)
    alert, times = stored_alert(company, "schema"), sorted(one.event.timestamp for one in log)
    since_ms, until_ms = times[len(times) // 2], times[-1]
    for window in (Window(until_ms=until_ms - 1), Window(since_ms, until_ms)):
        limits = {"since_ms": window.since_ms, "until_ms": window.until_ms}
        within = sum((window.since_ms or 0) <= at <= (window.until_ms or times[-1]) for at in times)
        assert ran(company, parts, alert, **limits)["events"] == within


def test_what_asks_of_earlier_reports_counts_as_it_is_reported(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    reporting_company = company_with_alerts(store_engine)
    reporting_company.put("user", {"name": "admin", "email": "admin@example.com", "isAdmin": True})
    session = spark.newSession()
    register_source(session, LogSource)
    place = HistoryLocation(str(tmp_path / "lake"), store_engine.url.render_as_string(hide_password=False))
    history = LakeParts(session, EventLog(store_engine), Lake(store_engine), place, FixedClock(STARTED_MS))
    with running(spark, store_engine, tmp_path / "match"), following(spark, store_engine, tmp_path / "streaks"):
        for status in ("Successful", "Failed", "Failed", "Failed", "Successful", "Failed"):
            reporting_company.run("etl", status)
        until(lambda: has_caught_up(store_engine) and streaks_caught_up(store_engine), within_s=120)
    grow(history)
    notes = stored_notifications(store_engine).values()
    for name in ("began", "first", "third", "resolved"):
        result = ran(reporting_company, BacktestParts(history, store_engine), stored_alert(reporting_company, name))
        notification_count = sum(any(reason["subscriptionName"] == name for reason in row[4]) for row in notes)
        assert result["notified"] == notification_count > 0
        assert result["matched"] == {"began": 2, "first": 2, "third": 1, "resolved": 1}[name]


LINKED = ("tables", "oncall", "deputy")
"""Each triggers the next one; incidents of ``loads`` hold back the first two."""


@pytest.fixture
def linked_company(store_engine: Engine) -> SmallCompany:
    """The pipeline ``load`` feeds ``orders``; changes of tables are told by ``tables`` and by what that triggers."""
    small_company = SmallCompany(store_engine)
    small_company.put("user", {"name": "admin", "email": "admin@example.com", "isAdmin": True})
    small_company.pipeline("load")
    ends = {"fromEntity": ("load", "pipeline"), "toEntity": ("orders", "table")}
    edge = {side: {"id": small_company.ids[name], "type": kind} for side, (name, kind) in ends.items()}
    small_company.writes.put_edge(edge, actor=SYSTEM)
    small_company.clock.advance(1_000)
    small_company.alert("loads", [], "pipelineStatus == 'Failed'", resources=("pipeline",))
    small_company.alert("tables", [OWNERS_MAIL], "fieldChanged == 'description'", resources=("table",))
    small_company.alert("oncall", [HOOK, {**OWNERS_MAIL, "notifyDownstream": True}], "eventType == 'entityDeleted'")
    small_company.alert("deputy", [DOWNSTREAM_BELL], "eventType == 'entityDeleted'")
    links = (("tables", "triggers", "oncall"), ("oncall", "triggers", "deputy"))
    for alert_name, key, other_alert_name in (
        *links,
        ("tables", "dependsOn", "loads"),
        ("oncall", "dependsOn", "loads"),
    ):
        link = {
            "op": "add",
            "path": f"/{key}",
            "value": [{"id": small_company.ids[other_alert_name], "type": "eventsubscription"}],
        }
        small_company.writes.patch("eventsubscription", small_company.key(alert_name), [link], actor=SYSTEM)
    return small_company


def tell_of_an_outage(company: SmallCompany) -> None:
    """One change before the load fails, three of ``revenue`` while it does, one of ``orders`` after it."""
    company.describe("orders", "before", by="cem")
    company.run("load", "Failed")
    for text in ("one", "two", "three"):
        company.describe("revenue", text, by="cem")
    company.run("load", "Successful")
    company.describe("orders", "after", by="cem")


@ON_BOTH_STORES
def test_what_it_triggers_and_what_incidents_hold_back_counts_as_the_pipeline_stored_it(
    spark: SparkSession, linked_company: SmallCompany, parts: BacktestParts, tmp_path: Path
) -> None:
    tell_of_an_outage(linked_company)
    with running(spark, linked_company.engine, tmp_path / "checkpoint"):
        until(lambda: has_caught_up(linked_company.engine), within_s=240)
    stored_rows = stored_notifications(linked_company.engine).values()
    by_pipeline = Counter((row[1], row[3] or row[2].partition(":")[2]) for row in stored_rows)
    reasons = Counter(one for row in stored_rows for one in {reason["subscriptionName"] for reason in row[4]})
    for steps in (10, 40) if SOAK else (10,):  # many parts, and few
        parts.events_per_step = steps
        result = ran(linked_company, parts, stored_alert(linked_company, "tables"))
        assert counts_by_recipient(result) == by_pipeline
        assert (result["matched"], result["heldBack"], result["notifiedNobody"]) == (5, 2, 0)
        assert {one["name"]: (one["notified"], one["heldBack"]) for one in result["triggered"]} == {
            "oncall": (reasons["oncall"], 2),
            "deputy": (reasons["deputy"], 0),
        }
    assert reasons["oncall"] > 3 and reasons["deputy"] >= 5
    alone = ran(linked_company, parts, stored_alert(linked_company, "tables") | {"triggers": [], "dependsOn": []})
    assert (alone["heldBack"], alone["triggered"], alone["notified"]) == (0, [], 2 + 3 + 2)
    assert "alerts" not in alone["recipients"][0]


def test_who_is_reached_only_by_alerts_that_the_asker_may_not_see_has_no_name(
    linked_company: SmallCompany, parts: BacktestParts
) -> None:
    tell_of_an_outage(linked_company)
    rules = [
        {"name": "all", "effect": "allow", "operations": ["All"], "resources": ["All"]},
        {"name": "no-alerts", "effect": "deny", "operations": ["ViewBasic"], "resources": ["eventsubscription"]},
    ]
    linked_company.put("policy", {"name": "p", "rules": rules})
    linked_company.put("role", {"name": "r", "policies": [{"id": linked_company.ids["p"], "type": "policy"}]})
    roles = [{"id": linked_company.ids["r"], "type": "role"}]
    linked_company.put("user", {"name": "ben", "email": "ben@example.com", "roles": roles})
    alert = stored_alert(linked_company, "tables")
    complete, narrowed_result = ran(linked_company, parts, alert), ran(linked_company, parts, alert, by="ben")
    assert (
        narrowed_result["channels"] == complete["channels"] and narrowed_result["matched"] == complete["matched"] == 5
    )
    assert {one.get("name") for one in complete["triggered"]} == {"oncall", "deputy"}
    assert [sorted(one) for one in narrowed_result["triggered"]] == [["heldBack", "notified"]] * 2
    hidden_recipients = [
        recipient
        for recipient in narrowed_result["recipients"]
        if linked_company.ids["tables"] not in recipient["alerts"]
    ]
    assert {one["channel"] for one in hidden_recipients} == {"Webhook", "ActivityFeed"}
    assert not any(key in one for one in hidden_recipients for key in ("id", "name", "target"))
    named_recipients = [one for one in narrowed_result["recipients"] if one not in hidden_recipients]
    assert [one["name"] for one in named_recipients] == ["ben"], "nobody else may view tables"


def test_what_the_asker_may_not_see_does_not_count(company: SmallCompany, parts: BacktestParts) -> None:
    alert = stored_alert(company, "schema")
    rule = {"name": "no-revenue", "effect": "deny", "operations": ["ViewBasic"], "resources": ["table"]}
    policy = {"name": "p", "rules": [{**rule, "condition": "matchAnyTag('PII.Sensitive')"}]}
    company.put("policy", policy)
    company.put("role", {"name": "r", "policies": [{"id": company.ids["p"], "type": "policy"}]})
    allow_everything = {"name": "all", "effect": "allow", "operations": ["All"], "resources": ["All"]}
    company.put("policy", {"name": "open", "rules": [allow_everything]})
    role = {"name": "every", "policies": [{"id": company.ids["open"], "type": "policy"}]}
    company.put("role", role)
    roles = [{"id": company.ids["r"], "type": "role"}, {"id": company.ids["every"], "type": "role"}]
    company.put("user", {"name": "ben", "email": "ben@example.com", "roles": roles})
    company.put("classification", {"name": "PII", "description": "x"})
    company.put("tag", {"name": "Sensitive", "classification": "PII", "description": "x"})
    sensitive_tags = {
        "tags": [{"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}]
    }
    company.table("revenue", owners=[{"type": "user", "name": "dia"}], **sensitive_tags)
    company.describe("revenue", "Hidden from ben.")
    company.describe("orders", "Shown to ben.")
    complete, narrowed_result = ran(company, parts, alert), ran(company, parts, alert, by="ben")
    log = list(EventLog(company.engine).read(0, 1_000))
    hidden_events = [one for one in log if one.event.entity_id == company.ids["revenue"]]
    plan = plan_of(alert_of(alert, created_at_ms=0))
    assert complete["matched"] - narrowed_result["matched"] == sum(matches(plan, one) for one in hidden_events) > 1
    assert [one["id"] for one in hidden_samples(narrowed_result, hidden_events)] == []


def test_no_condition_is_evaluated_on_what_somebody_may_not_view(company: SmallCompany, parts: BacktestParts) -> None:
    index = index_of([replace(plan_of(alert_of(stored_alert(company, "schema"), created_at_ms=0)), enabled=True)])
    extent, _ = parts.history.extent_of(ALWAYS)
    (step,) = extent.steps(ALWAYS, 10_000)
    events = part(parts.history.session, parts.history.place, step, ALWAYS)
    is_of_orders = F.col("entity_id") == company.ids["orders"]

    def viewable(candidates: pa.Table) -> Iterator[pa.Table]:
        yield candidates.filter(pc.equal(candidates["entity_id"], company.ids["orders"]))

    match_rows = matches_on_spark(without_hidden(events, index, viewable), index).select("log_offset").collect()
    expected_rows = matches_on_spark(events.where(is_of_orders), index).select("log_offset").collect()
    assert sorted(match_rows) == sorted(expected_rows)
    assert 1 < len(match_rows) < matches_on_spark(events, index).count()


def hidden_samples(result: Document, hidden: list[Any]) -> list[Document]:
    ids = {one.event.id for one in hidden}
    return [one for one in result["samples"] if one["id"] in ids]


def runner(spark: SparkSession, engine: Engine, compute: Any) -> Runner[Backtest]:
    return Runner("backtest", spark.newSession(), Backtests(engine), ScheduledJobs(engine), compute, SystemClock())


def waiting_backtest(engine: Engine) -> Backtest:
    backtest_row = Backtest("b0", SYSTEM.id, 1, {"name": "a"}, None, None, JobState.WAITING)
    Backtests(engine).add(backtest_row)
    return backtest_row


def state_of(engine: Engine) -> str:
    backtest_row = Backtests(engine).find("b0")
    assert backtest_row is not None
    return backtest_row.state.value


class Running:
    def __init__(self, runner: Runner[Backtest]) -> None:
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=runner.run, args=(self.stopping,))

    def __enter__(self) -> Running:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.thread.join(60)
        assert not self.thread.is_alive()


def test_cancelling_breaks_off_what_spark_is_at(spark: SparkSession, store_engine: Engine) -> None:
    end = threading.Event()

    def endless(_asked: Backtest, report: ReportProgress) -> Document:
        report(0, 10)
        try:
            slow = spark.range(0, 10**13, 1, 2).selectExpr("sum(id % 7) AS x")
            return {"x": slow.collect()[0].x}
        finally:
            end.set()

    backtest_row, tracker = waiting_backtest(store_engine), spark.sparkContext.statusTracker()
    with Running(runner(spark, store_engine, endless)):
        until(lambda: bool({*tracker.getJobIdsForGroup("tocsin-backtest-b0")} & {*tracker.getActiveJobsIds()}))
        assert state_of(store_engine) == "running"
        assert ScheduledJobs(store_engine).seen_at_ms(JOB) > 0
        assert Backtests(store_engine).cancel(backtest_row, now_ms=1)
        until(end.is_set, within_s=30)
        until(lambda: not tracker.getActiveJobsIds(), within_s=30)
    assert state_of(store_engine) == "cancelled"


def test_a_pipeline_that_is_stopped_gives_it_back(spark: SparkSession, store_engine: Engine) -> None:
    def endless(_asked: Backtest, report: ReportProgress) -> Document:
        while True:
            report(1, 10)
            time.sleep(0.01)

    waiting_backtest(store_engine)
    with Running(runner(spark, store_engine, endless)):
        until(lambda: state_of(store_engine) == "running", within_s=30)
    assert state_of(store_engine) == "waiting"
    with Running(runner(spark, store_engine, lambda _asked, _report: {"matched": 3})):
        until(lambda: state_of(store_engine) == "done", within_s=30)


@ON_BOTH_STORES
def test_what_goes_wrong_ends_it_with_a_reason(spark: SparkSession, store_engine: Engine) -> None:
    def fail(_asked: Backtest, _report: ReportProgress) -> Document:
        spark.sql("SELECT raise_error('no such luck')").collect()
        return {}

    waiting_backtest(store_engine)
    with Running(runner(spark, store_engine, fail)):
        until(lambda: state_of(store_engine) == "failed", within_s=30)
    ended = Backtests(store_engine).find("b0")
    assert ended is not None and "no such luck" in str(ended.reason)


def test_events_before_a_rename_match_what_is_called_otherwise_now(company: SmallCompany, parts: BacktestParts) -> None:
    company.put("classification", {"name": "Secret", "description": "x"})
    company.put("tag", {"name": "Old", "classification": "Secret", "description": "x"})
    company.alert("secret", [OWNERS_MAIL], "matchAnyTag('Secret.Old')", resources=("table",))
    labels = [{"tagFQN": "Secret.Old", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}]
    tag_operations = [{"op": "add", "path": "/tags", "value": labels}]
    company.writes.patch("table", company.key("orders"), tag_operations, actor=SYSTEM)
    match_counts = []
    for name in ("New", "Newest"):
        company.describe("orders", name)
        rename_operations = [{"op": "replace", "path": "/name", "value": name}]
        tag = f"Secret.{'Old' if name == 'New' else 'New'}"
        company.writes.patch("tag", Key.by_name(tag), rename_operations, actor=SYSTEM)
        match_counts.append(matches_in(ran(company, parts, stored_alert(company, "secret")))[0])
    company.describe("orders", "at last")
    assert [*match_counts, matches_in(ran(company, parts, stored_alert(company, "secret")))[0]] == [2, 3, 4]


def test_breaking_changes_are_found_in_segments_that_an_earlier_release_wrote(
    company: SmallCompany, parts: BacktestParts
) -> None:
    key = Key.by_id(company.ids["orders"])
    company.writes.patch("table", key, [{"op": "remove", "path": "/columns/0"}], actor=SYSTEM)
    company.alert("broken", [OWNERS_MAIL], "breaking()", resources=("table",))
    alert = stored_alert(company, "broken")
    of_log = ran(company, parts, alert)["matched"]
    grow(parts.history)
    as_written = ran(company, parts, alert)["matched"]
    files = list(Path(parts.history.place.root).rglob("*.parquet"))
    for file in files:
        pq.write_table(pq.ParquetFile(file).read().drop_columns(["is_breaking"]), file)
    assert files
    assert (of_log, as_written, ran(company, parts, alert)["matched"]) == (1, 1, 1)


def test_changes_are_found_by_why_they_were_made_in_the_log_and_in_the_lake(
    company: SmallCompany, parts: BacktestParts
) -> None:
    for number, reason in enumerate(("the auditors asked", None, "dbt run 4c1f", "für Zoë")):
        described = [{"op": "add", "path": "/description", "value": f"text {number}"}]
        company.writes.patch("table", company.key("orders"), described, actor=replace(SYSTEM, reason=reason))
    company.alert("asked", [OWNERS_MAIL], "reason matches 'the .*' || reason == 'für Zoë'", resources=("table",))
    alert = stored_alert(company, "asked")
    of_log = matches_in(ran(company, parts, alert))
    grow(parts.history)
    assert (of_log[0], matches_in(ran(company, parts, alert))[0]) == (2, 2)
    extent = parts.history.extent()
    events = span_events(parts.history.session, parts.history.place, extent, 0, extent.log_end)
    reasons = [row.reason for row in change_events(events, ["reason"]).where("reason IS NOT NULL").collect()]
    assert sorted(reasons) == ["dbt run 4c1f", "für Zoë", "the auditors asked"]
