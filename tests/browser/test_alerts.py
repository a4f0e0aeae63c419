"""Tests of the alerts page: noisy alerts, suggestions, and backtest results."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from tests.backtested import RESULT
from tests.browser.test_page import describe_for, log_in
from tests.serving import Served, warehouse
from tests.waiting import until

from tocsin.clock import SystemClock
from tocsin.model.backtest import JOB, Backtest
from tocsin.model.entity import Document
from tocsin.server.bootstrap import ADMINISTRATOR
from tocsin.store.catalogue.alerts.backtests import Backtests
from tocsin.store.eventlog.job_runs import ScheduledJobs

pytestmark = pytest.mark.browser

NAMED_IN_MARKUP: Document = {**RESULT, "recipients": [{**RESULT["recipients"][0], "name": "<b>ana</b>"}]}


@pytest.fixture
def alerts(served: Served, page: Page, sqlite_engine: Engine) -> Page:
    """The alerts page as an administrator sees it; one alert has notified of two events."""
    with served.administrator() as client:
        asset = warehouse(client)
    user_id, owner = served.person("owen")
    owner.close()
    describe_for(served, sqlite_engine, user_id, asset, "All orders.")
    log_in(page, ADMINISTRATOR["email"], served.password)
    page.get_by_role("link", name="Alerts").click()
    return page


@contextmanager
def at_work(engine: Engine, result: Document | None) -> Iterator[list[Backtest]]:
    """A pipeline that takes one backtest, says how far it is, and comes to ``result``; or waits to be cancelled."""
    ScheduledJobs(engine).record_heartbeat(JOB, now_ms=SystemClock().now_ms())
    backtests, claimed_backtests = Backtests(engine), list[Backtest]()

    def work() -> None:
        now_ms = SystemClock().now_ms()
        until(lambda: _claim_one(backtests, claimed_backtests, now_ms), within_s=20)
        backtests.note_progress(claimed_backtests[0], "p", 300, 1200, now_ms=now_ms)
        if result is None:
            until(lambda: not backtests.note_progress(claimed_backtests[0], "p", 300, 1200, now_ms=now_ms), within_s=20)
        else:
            backtests.finish(claimed_backtests[0], "p", result, now_ms=now_ms)

    worker = threading.Thread(target=work)
    worker.start()
    yield claimed_backtests
    worker.join()


def _claim_one(backtests: Backtests, claimed: list[Backtest], now_ms: int) -> bool:
    backtest = backtests.claim("p", now_ms=now_ms, lost_after_ms=60_000)
    claimed.extend([backtest] if backtest else [])
    return bool(backtest)


def test_the_noisiest_alerts_are_ranked_and_what_would_spare_it_is_said(alerts: Page) -> None:
    row = alerts.locator("#noise li.card").filter(has_text="Described")
    expect(row).to_contain_text("1 event, 1 notification to 1 person, 0 opened, 0 muted, 0 unsubscribed")
    expect(row.get_by_role("img", name="1 notification, 0 opened")).to_be_visible()
    row.get_by_text("How to reduce it").click()
    expect(row).to_contain_text("None: no condition that was tried")
    expect(alerts.get_by_text("noise = notifications to people - opened in the app")).to_be_visible()


def test_a_backtest_is_drawn_with_the_people_it_would_have_notified(alerts: Page, sqlite_engine: Engine) -> None:
    alerts.get_by_label("Alert", exact=True).select_option(label="Described")
    with at_work(sqlite_engine, NAMED_IN_MARKUP) as claimed_backtests:
        alerts.get_by_role("button", name="Backtest").click()
        answer = alerts.locator("#backtest")
        expect(answer.locator(".answer")).to_have_text(
            "30 of 1,200 events match, on 1 asset; 4 of them notify nobody; incidents hold back 3 of them. It would"
            " have sent 60 notifications to 2 recipients (Email 60); 5 duplicates merged."
        )
    assert claimed_backtests[0].alert["name"] == "Described"
    plot = answer.get_by_role("img", name="Matches per day")
    expect(answer.get_by_text("Matches per day, 2026-03-01 to ")).to_contain_text("(UTC), at most 20.")
    assert plot.locator("rect title").all_text_contents() == ["2026-03-01: 10", "2026-03-03: 20"]
    expect(answer.get_by_role("cell", name="<b>ana</b>")).to_be_visible()
    assert answer.get_by_role("cell", name="pg.store.orders").count() == 2
    expect(answer.get_by_role("row", name="OnCall 20 2")).to_be_visible()
    expect(answer.get_by_role("row", name="an alert that you may not view 1 0")).to_be_visible()


def test_a_backtest_shows_how_far_it_is_and_is_cancelled(alerts: Page, sqlite_engine: Engine) -> None:
    with at_work(sqlite_engine, None):
        alerts.get_by_role("button", name="Backtest").click()
        answer = alerts.locator("#backtest")
        expect(answer).to_contain_text("300 of 1,200 events")
        assert answer.get_by_role("progressbar").get_attribute("max") == "1200"
        answer.get_by_role("button", name="Cancel").click()
        expect(answer).to_have_text("The backtest was cancelled.")


def test_without_a_pipeline_the_page_says_so(alerts: Page) -> None:
    alerts.get_by_role("button", name="Backtest").click()
    expect(alerts.locator("#backtest")).to_contain_text("Waiting for a pipeline")
