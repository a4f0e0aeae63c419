"""Tests of reading reports from the log, event by event."""

from __future__ import annotations

from sqlalchemy import Engine
from tests.company import SmallCompany

from tocsin.flow.match.streak import StatusReport, with_facts
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.failure_incidents import ReportPlace
from tocsin.store.outbox.failure_messages import FailureMessages


def test_reports_stand_in_the_order_of_the_log_and_know_what_they_speak_of(store_engine: Engine) -> None:
    company, reports = SmallCompany(store_engine), Reports(store_engine)
    assert reports.newest() == 0
    company.pipeline("etl")
    company.pipeline("other")
    started_ms = company.clock.now_ms()
    company.run("etl", "Failed", at_ms=started_ms + 50)
    company.run("other", "Failed")
    company.describe("orders", "no report")
    company.run("etl", "Successful", at_ms=started_ms + 10)
    company.run("etl", "Failed", at_ms=started_ms + 70)
    last = EventLog(store_engine).read(0, 1_000)[-1]
    assert reports.newest() == last.offset
    assert reports.before(last) == [
        StatusReport("Failed", started_ms + 50),
        StatusReport("Successful", started_ms + 10),
    ]
    assert with_facts(last, reports.before(last)).derived["failures"] == 2


def test_a_report_ahead_of_the_clock_is_none_of_those_in_a_row(store_engine: Engine) -> None:
    company, reports = SmallCompany(store_engine), Reports(store_engine)
    company.pipeline("etl")
    company.run("etl", "Failed")
    first_failed_ms = company.clock.now_ms()
    for status in ("Failed", "Successful"):
        company.run("etl", status, at_ms=company.clock.now_ms() + 10_800_000)
    company.run("etl", "Failed")
    last = EventLog(store_engine).read(0, 1_000)[-1]
    assert with_facts(last, reports.before(last)).derived["failures"] == 2
    place = ReportPlace(company.ids["etl"], last.offset)
    context = FailureMessages(store_engine).streaks({place: last.event})[place]
    assert (context.since_ms, context.count, context.last_success_ms) == (first_failed_ms, 2, None)


def test_the_same_report_again_is_none(store_engine: Engine) -> None:
    company, reports = SmallCompany(store_engine), Reports(store_engine)
    company.pipeline("etl")
    company.run("etl", "Failed", at_ms=5)
    newest = reports.newest()
    assert company.run("etl", "Failed", at_ms=5) is None
    assert reports.newest() == newest > 0


def test_only_existing_entities_are_live_and_only_logged_reports_are_reported(store_engine: Engine) -> None:
    company, reports = SmallCompany(store_engine), Reports(store_engine)
    company.pipeline("etl")
    company.pipeline("gone")
    event = company.run("etl", "Failed")
    assert event is not None
    company.writes.delete("pipeline", company.key("gone"), actor=company.actor("ana"))
    assert reports.live([company.ids["etl"], company.ids["gone"], "nobody"]) == {company.ids["etl"]: "pipeline"}
    assert reports.logged_ids([event["id"], "nothing"]) == {event["id"]}
