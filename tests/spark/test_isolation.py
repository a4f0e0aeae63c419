"""Tests of alerts that are slow or fail: they are disabled, their owners notified, and the others continue."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.cloudpickle import register_pickle_by_value
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sqlalchemy import Engine, select, update
from tests.company import SmallCompany, destination_id
from tests.spark.test_match_stream import FOLLOWERS_BELL, has_caught_up, parts_of, stored_notifications
from tests.store.catalogues import add_tags
from tests.store.test_resolving import restrict
from tests.waiting import until

from tocsin.conditions.check import parse_and_check
from tocsin.flow.match.plan import Plan
from tocsin.flow.match.plan_cost import check_cost
from tocsin.flow.resolve.portions import MatchedEvent
from tocsin.jobs.isolation import (
    CONTROL,
    STOPPED,
    Processing,
    SetAside,
    TimeLimitExceeded,
    evaluate,
    run_isolated,
    within,
)
from tocsin.jobs.match_stream import streaming, warm_up
from tocsin.jobs.resolving import Notify, Resolving
from tocsin.model.audit_finding import FindingKind
from tocsin.model.change import EventType
from tocsin.model.people import SYSTEM
from tocsin.spark.match import Index, index_of, matches
from tocsin.spark.session import register_source
from tocsin.spark.sources import LOG_FORMAT, LogSource
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.alert_tables import match_result
from tocsin.store.database.tables import change_event, entity
from tocsin.store.eventlog.log import EventLog

pytestmark = pytest.mark.spark

LIMIT_S, _SHORT_S = 1.0, 2.0

_CHANGES = 30
"""So many that the slow alert takes many times as long as the others on a busy machine, too."""

_TEXT = "_" * 999 + "!"
_PATTERN = "_*_{0,9}y"
OWNERS_BELL = {"category": "Owners", "type": "ActivityFeed"}


def _wide_table(company: SmallCompany) -> None:
    """Make the table so wide that the slow alert needs a second and more for each of its events."""
    columns = [{"name": f"c{number}", "dataType": "INT", "description": _TEXT} for number in range(1_600)]
    patch = [{"op": "add", "path": "/columns", "value": columns}]
    company.writes.patch("table", company.key("orders"), patch, actor=company.actor("dia"))


def _findings(engine: Engine) -> list[dict[str, object]]:
    query = select(change_event.c.id).where(change_event.c.event_type == EventType.AUDIT_FINDING.value)
    with engine.connect() as connection:
        ids = list(connection.execute(query.order_by(change_event.c.log_offset)).scalars())
    events = [logged.event for one in ids if (logged := EventLog(engine).find(one))]
    return [
        {"alert": event.entity_id, **dict(change.new_value)}
        for event in events
        if event.change_description
        for change in event.change_description.fields_added
    ]


@pytest.mark.timeout(600)
def test_an_alert_that_is_too_slow_is_set_aside_and_the_others_go_on(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    """Fault scenario 16."""
    company = SmallCompany(sqlite_engine)
    quick = company.alert("quick", [FOLLOWERS_BELL], "entityFullyQualifiedName matches '.*orders'")
    company.alert("bell", [OWNERS_BELL], resources=("eventsubscription",))
    slow = company.alert("slow", [FOLLOWERS_BELL], f"entity.columns.description matches '{_PATTERN}'")
    patch = [{"op": "add", "path": "/owners", "value": [{"type": "user", "id": company.ids["cem"]}]}]
    company.writes.patch("eventsubscription", company.key("slow"), patch, actor=company.actor("dia"))
    _wide_table(company)
    for number in range(_CHANGES):
        company.describe("orders", f"text {number}")
    parts = replace(parts_of(spark, sqlite_engine, tmp_path / "checkpoint"), match_limit_s=LIMIT_S)
    warm_up(parts)
    with streaming(parts):
        until(lambda: has_caught_up(sqlite_engine), within_s=400)
        company.describe("orders", "afterwards")
        until(lambda: has_caught_up(sqlite_engine), within_s=60)
    (finding,) = _findings(sqlite_engine)
    assert finding.keys().isdisjoint({"eventId", "offset"}), "the micro-batch's first event may be hidden"
    assert (finding["alert"], finding["kind"], finding["expected"]) == (slow, "tooSlow", LIMIT_S * 1000)
    assert {one.id for one in Subscriptions(sqlite_engine).list_enabled()} >= {quick}
    assert slow not in {one.id for one in Subscriptions(sqlite_engine).list_enabled()}
    quick_notifications = [row for row in stored_notifications(sqlite_engine).values() if "quick" in str(row[4])]
    assert len(quick_notifications) == _CHANGES + 2
    about_slow = {row[0] for row in stored_notifications(sqlite_engine).values() if row[3] == company.ids["cem"]} - {
        row[0] for row in quick_notifications
    }
    with sqlite_engine.connect() as connection:
        query = select(change_event.c.event_type).where(change_event.c.id.in_(about_slow))
        types = set(connection.execute(query.where(change_event.c.entity_id == slow)).scalars())
    assert types >= {EventType.AUDIT_FINDING.value, EventType.ENTITY_UPDATED.value}


def test_an_alert_that_an_earlier_version_stored_and_this_one_refuses_is_a_finding_once(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(store_engine)
    company.alert("bell", [FOLLOWERS_BELL], "fieldChanged == 'description'")
    stale = company.alert("stale", [FOLLOWERS_BELL], "userName matches 'aaa'")
    with store_engine.begin() as connection:
        row = connection.execute(select(entity.c.document).where(entity.c.id == stale)).scalar_one()
        hostile = row.replace("'aaa'", "'" + ".{0,8}" * 12 + "'")
        connection.execute(update(entity).where(entity.c.id == stale).values(document=hostile))
    with streaming(parts_of(spark, store_engine, tmp_path / "checkpoint")):
        for number in range(3):
            company.describe("orders", f"text {number}")
            until(lambda: has_caught_up(store_engine), within_s=60)
    (finding,) = _findings(store_engine)
    assert (finding["alert"], finding["kind"]) == (stale, "unreadable")
    assert "regular expression rejected" in str(finding["about"])
    assert len(stored_notifications(store_engine)) == 3


def test_work_that_is_late_is_cancelled_and_other_work_is_not(spark: SparkSession) -> None:
    slow = spark.range(1 << 40).selectExpr("sum(id % 7)")
    with pytest.raises(TimeLimitExceeded):
        within(spark, 0.2, slow.collect)
    assert within(spark, 60.0, spark.range(10).count) == 10


@pytest.fixture
def java_log(spark: SparkSession) -> Iterator[Any]:
    """What Spark logs in the test."""
    java: Any = spark.sparkContext._jvm
    apache, text = java.org.apache.logging.log4j, java.java.io.StringWriter()
    layout = apache.core.layout.PatternLayout.createDefaultLayout()
    appender = apache.core.appender.WriterAppender.createAppender(layout, None, text, "test", False, True)
    appender.start()
    logger = apache.LogManager.getRootLogger()
    logger.addAppender(appender)
    yield text
    logger.removeAppender(appender)


def test_a_frame_is_computed_to_its_last_row_and_to_cancel_that_is_no_error(spark: SparkSession, java_log: Any) -> None:
    last_fails = spark.range(10, numPartitions=2).select(F.assert_true(F.col("id") < 9).alias("is_less"))
    with pytest.raises(STOPPED, match="is not true"):
        within(spark, 60.0, lambda: evaluate(last_fails))
    logged_count = java_log.getBuffer().length()
    slow = spark.range(1 << 40).selectExpr("sum(id % 7)")
    with pytest.raises(TimeLimitExceeded):
        within(spark, 0.2, lambda: evaluate(slow))
    assert within(spark, 60.0, spark.range(10).count) == 10
    assert java_log.toString()[logged_count:] == ""


def test_work_that_is_late_goes_on_if_it_may(spark: SparkSession) -> None:
    calls: list[bool] = []

    def may_go_on() -> bool:
        calls.append(True)
        return True

    def wait_until_asked() -> int:
        until(lambda: bool(calls), within_s=30)
        return spark.range(10).count()

    assert within(spark, 0.1, wait_until_asked, unless=may_go_on) == 10


def test_many_recipients_are_no_slow_alert(spark: SparkSession, sqlite_engine: Engine, tmp_path: Path) -> None:
    company = SmallCompany(sqlite_engine)
    company.alert("asking", [FOLLOWERS_BELL], "entityFullyQualifiedName matches '.*orders'")
    company.describe("orders", "All orders.")
    parts = parts_of(spark, sqlite_engine, tmp_path / "checkpoint")
    register_source(spark, LogSource)
    log = {"url": str(sqlite_engine.url), "after": "0", "through": str(EventLog(sqlite_engine).readable_end())}
    events = spark.read.format(LOG_FORMAT).options(**log).load()
    index, tries = parts.alerts.read().index, 0

    slow = f"reflect('java.lang.Thread', 'sleep', {2_000 * _SHORT_S:.0f}L)"
    match_count = matches(events, index).count()  # and what Spark does for the first time is done

    def work(narrowed: Index) -> int:
        nonlocal tries
        tries += 1
        spark.range(1).selectExpr(slow).collect()
        return matches(events, narrowed).count()

    def match(_narrowed: Index) -> int:
        return match_count  # at once, however busy the machine is

    processing = Processing(spark, work, match, match, costs={})
    assert run_isolated(processing, index, limit_s=_SHORT_S) == (match_count, [])
    assert tries == 1, "it is not stopped and begun again"


class Batch:
    """A micro-batch whose steps fail in Spark when the index has certain alerts, and what was done to it."""

    def __init__(self, spark: SparkSession, *bad: str, together: int = 1) -> None:
        self.spark, self.bad, self.together = spark, frozenset(bad), together
        self.done: list[list[str]] = []
        self.is_store_away = False

    def processing(self, *, fails_in_matching: bool = True) -> Processing[int]:
        match = self.run if fails_in_matching else lambda _index: None
        return Processing(self.spark, self.work, match, self.run, {"a": 1, "b": 9, "c": 5, "d": 2, "e": 3})

    def work(self, index: Index) -> int:
        self.run(index)
        self.done.append(index.subscription_ids())
        return len(index.subscription_ids())

    def run(self, index: Index) -> int:
        bad = len(self.bad.intersection(index.subscription_ids()))
        if self.is_store_away or bad >= self.together:
            message = "connection refused" if self.is_store_away else "cannot be evaluated"
            self.spark.range(1).selectExpr(f"raise_error('{message}')").collect()
        return len(index.subscription_ids())


def _index() -> Index:
    return index_of([Plan(name, ("all",), parse_and_check(f"userName matches '{name}.*'"), 0) for name in "abcde"])


@pytest.mark.parametrize("fails_in_matching", [True, False])
def test_alerts_that_fail_alone_are_set_aside_and_the_others_are_done_once(
    spark: SparkSession, *, fails_in_matching: bool
) -> None:
    batch = Batch(spark, "b", "e")
    count, aside = run_isolated(batch.processing(fails_in_matching=fails_in_matching), _index(), limit_s=60)
    assert count == 3
    assert batch.done == [["a", "c", "d"]]
    assert [(one.subscription_id, one.kind) for one in aside] == [
        ("b", FindingKind.FAILING),
        ("e", FindingKind.FAILING),
    ]
    assert "cannot be evaluated" in aside[0].reason


def test_of_alerts_that_fail_only_together_the_costliest_are_set_aside(spark: SparkSession) -> None:
    batch = Batch(spark, "a", "b", "c", "d", together=3)
    assert run_isolated(batch.processing(), _index(), limit_s=60) == (
        3,
        [SetAside("b", FindingKind.TOO_COSTLY), SetAside("c", FindingKind.TOO_COSTLY)],
    )


def test_no_alert_is_set_aside_for_a_failure_that_nothing_has_as_well(spark: SparkSession) -> None:
    batch = Batch(spark)
    batch.is_store_away = True
    with pytest.raises(PySparkException, match="connection refused"):
        run_isolated(batch.processing(), _index(), limit_s=60)
    assert batch.done == []


@pytest.mark.parametrize("message", ["database or disk is full", "sqlite3.OperationalError: no such column"])
def test_no_alert_is_set_aside_for_a_fault_of_the_store_that_only_some_meet(spark: SparkSession, message: str) -> None:
    """A disk that is full lets those pass that notify nobody."""
    batch = Batch(spark, "b")

    def store(index: Index) -> int:
        if "b" in index.subscription_ids():
            spark.range(1).selectExpr(f"raise_error('{message}')").collect()
        return 1

    processing = replace(batch.processing(fails_in_matching=False), rehearse=store)
    with pytest.raises(PySparkException):
        run_isolated(processing, _index(), limit_s=60)
    assert batch.done == []


def test_alerts_are_set_aside_though_no_other_matches_if_the_event_can_be_read(spark: SparkSession) -> None:
    batch = Batch(spark, "b", "c")
    processing = replace(batch.processing(), rehearse=lambda _index: 0)
    _, aside = run_isolated(processing, _index(), limit_s=60)
    assert [one.subscription_id for one in aside] == ["b", "c"]


@pytest.mark.parametrize("own_alert_ids", [frozenset(), frozenset({"c"})])
def test_no_alert_is_set_aside_for_what_all_that_match_or_our_own_fail_at(
    spark: SparkSession, own_alert_ids: frozenset[str]
) -> None:
    batch = Batch(spark, "b", "c", CONTROL)
    processing = replace(batch.processing(), own_alert_ids=own_alert_ids, rehearse=lambda _index: len(own_alert_ids))
    with pytest.raises(PySparkException):
        run_isolated(processing, _index(), limit_s=60)
    assert batch.done == []


def test_a_failure_that_does_not_recur_sets_no_alert_aside(spark: SparkSession) -> None:
    batch = Batch(spark, "b")
    processing = replace(batch.processing(), match=lambda _index: None, rehearse=lambda _index: 0)
    with pytest.raises(PySparkException):
        run_isolated(processing, _index(), limit_s=60)


class Failing(Notify):
    """Work that cannot resolve the matches of one alert."""

    def _store(self, events: Sequence[MatchedEvent], resolving: Resolving) -> int:
        for event in events:
            for subscription_id in event.answers_by_alert:
                if any(rule.subscription_name == "bad" for rule in self.alerts.value.rules.get(subscription_id, ())):
                    raise ValueError("this alert cannot be resolved")
        return super()._store(events, resolving)


@pytest.mark.timeout(600)
def test_an_alert_that_cannot_be_resolved_is_set_aside_and_nobody_else_is_notified_twice(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(sqlite_engine)
    good = company.alert("good", [FOLLOWERS_BELL], "fieldChanged == 'description'")
    bad = company.alert("bad", [FOLLOWERS_BELL], "fieldChanged == 'description'")
    for number in range(3):
        company.describe("orders", f"text {number}")
    register_pickle_by_value(sys.modules[__name__])
    parts = replace(parts_of(spark, sqlite_engine, tmp_path / "checkpoint"), work=Failing)
    with streaming(parts):
        until(lambda: has_caught_up(sqlite_engine), within_s=400)
        company.describe("orders", "afterwards")
        until(lambda: has_caught_up(sqlite_engine), within_s=60)
    (finding,) = _findings(sqlite_engine)
    assert (finding["alert"], finding["kind"]) == (bad, "failing")
    assert "ValueError" in str(finding["about"])
    assert "cannot be resolved" not in str(finding["about"]), "an error may repeat values that its owner may not view"
    assert finding.keys().isdisjoint({"eventId", "offset"}), "the micro-batch's first event may be hidden"
    assert bad not in {one.id for one in Subscriptions(sqlite_engine).list_enabled()}
    notifications = list(stored_notifications(sqlite_engine).values())
    assert len(notifications) == 4
    assert all(good in str(row[4]) and bad not in str(row[4]) for row in notifications)


class FailingWhereHidden(Notify):
    """Work that fails at what one alert matches of a table that its editor may not view."""

    def _store(self, events: Sequence[MatchedEvent], resolving: Resolving) -> int:
        _refuse(self, events, resolving)
        return super()._store(events, resolving)


def _refuse(work: Notify, events: Sequence[MatchedEvent], resolving: Resolving) -> None:
    hidden = {
        name
        for name, table in resolving.events.entities({one.head.entity_id for one in events}).items()
        if table[1].get("name") == "revenue"
    }
    for event in events:
        for subscription_id in event.answers_by_alert:
            rules = work.alerts.value.rules.get(subscription_id, ())
            if event.head.entity_id in hidden and any(rule.subscription_name == "hers" for rule in rules):
                raise ValueError("this text of a hidden table cannot be evaluated")


@pytest.mark.timeout(600)
def test_an_alert_that_fails_only_on_what_its_editor_may_not_view_goes_on(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(sqlite_engine)
    company.writes.follow("table", company.ids["revenue"], company.ids["cem"], actor=company.actor("cem"))
    no_revenue = {"resources": ["table"], "effect": "deny", "operations": ["ViewAll"]}
    add_tags(company.writes, "Secret.Yes")
    tag = {"tagFQN": "Secret.Yes", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
    company.writes.patch(
        "table", company.key("revenue"), [{"op": "add", "path": "/tags", "value": [tag]}], actor=SYSTEM
    )
    restrict(company, "ana", {"name": "No", "condition": "matchAnyTag('Secret.Yes')", **no_revenue})
    condition = "entity.description matches '.*text.*'"
    hers = _alert_by(company, "hers", "ana", condition)
    other_alert_id = company.alert("others", [FOLLOWERS_BELL], condition)
    register_pickle_by_value(sys.modules[__name__])
    parts = replace(parts_of(spark, sqlite_engine, tmp_path / "checkpoint"), work=FailingWhereHidden)
    with streaming(parts):
        for number in range(2):
            company.describe("revenue", f"text {number}")
            company.describe("orders", f"text {number}")
            company.describe("revenue", f"without {number}")
            until(lambda: has_caught_up(sqlite_engine), within_s=300)
    assert _findings(sqlite_engine) == []
    assert hers in {alert.id for alert in Subscriptions(sqlite_engine).list_enabled()}
    assert parts.unevaluated.among(parts.alerts.read()) == {hers}
    reasons = [
        {reason["subscriptionName"] for reason in row[4]} for row in stored_notifications(sqlite_engine).values()
    ]
    assert sorted(map(sorted, reasons)) == [["hers", "others"], ["hers", "others"], ["others"], ["others"]]
    with sqlite_engine.connect() as connection:
        results = connection.execute(select(match_result)).all()
    withheld = [row for row in results if row.withheld_for is not None]
    assert {(row.subscription_id, row.withheld_for) for row in withheld} == {(hers, company.ids["ana"])}
    assert len(withheld) >= 2, "administrators learn of what is withheld"
    assert len([row for row in results if row.subscription_id == other_alert_id]) == 4


def _alert_by(company: SmallCompany, name: str, who: str, condition: str) -> str:
    rules = {"resources": ["table"], "rules": [{"effect": "include", "condition": condition}]}
    destinations = [{"id": destination_id(name), **FOLLOWERS_BELL}]
    request = {"name": name, "alertType": "Notification", "destinations": destinations, "filteringRules": rules}
    company.clock.advance(1_000)
    return str(company.writes.create("eventsubscription", request, actor=company.actor(who)).document["id"])


def test_the_slow_pattern_is_one_that_is_taken() -> None:
    check_cost(Plan("slow", ("all",), parse_and_check(f"entity.columns.description matches '{_PATTERN}'"), 0))
