"""Stories of the alerts pages: an alert from nothing to a message, a failed delivery mended, noise and backtests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from httpx import Client
from playwright.sync_api import Page, expect
from sqlalchemy import Engine
from tests.acceptance.worker.senders import webhook_sender
from tests.backtested import RESULT
from tests.notifying import notify_all
from tests.serving import Json, Served, warehouse
from tests.waiting import until
from tests.workers import with_parts, worker_parts

from tocsin.clock import SystemClock
from tocsin.delivery.channels.slack.sender import SlackSender
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.delivery.worker.deliver import Worker
from tocsin.delivery.worker.parts import Limits
from tocsin.model.backtest import JOB, Backtest
from tocsin.model.entity import Document
from tocsin.model.subscription import Channel
from tocsin.server.bootstrap import ADMINISTRATOR
from tocsin.store.catalogue.alerts.backtests import Backtests
from tocsin.store.eventlog.job_runs import ScheduledJobs

pytestmark = pytest.mark.browser

LOOPBACK = egress_of(("127.0.0.0/8",))
NAMED_IN_MARKUP: Document = {**RESULT, "recipients": [{**RESULT["recipients"][0], "name": "<b>ana</b>"}]}
PATCH = {"Content-Type": "application/json-patch+json"}


@dataclass
class LocalReceiver:
    """A receiver on this machine: what arrived, and the status that it answers."""

    url: str = ""
    status: int = 200
    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[LocalReceiver]:
    local = LocalReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            local.texts.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            local.ids.append(self.headers["webhook-id"])
            self.send_response(local.status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    local.url = f"http://127.0.0.1:{server.server_port}/hook"
    yield local
    server.shutdown()
    server.server_close()


@contextmanager
def sending(engine: Engine) -> Iterator[None]:
    """Run a worker that sends webhooks and messages of Slack while the block lasts."""
    loop, stop = asyncio.new_event_loop(), asyncio.Event()

    async def work() -> None:
        async with webhook_sender(LOOPBACK) as webhook, HttpRequests(LOOPBACK) as requests:
            slack = SlackSender(requests, base_url="http://tocsin", api_url="http://slack")
            parts = worker_parts(engine, {Channel.WEBHOOK: webhook, Channel.SLACK: slack})
            await Worker(with_parts(parts, limits=Limits(lease_s=60.0, poll_s=0.02, grace_s=5.0))).run(stop)

    thread = threading.Thread(target=lambda: loop.run_until_complete(work()))
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def log_in(page: Page, served: Served, path: str) -> None:
    page.get_by_label("E-mail or name").fill(ADMINISTRATOR["email"])
    page.get_by_label("Password").fill(served.password)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("link", name="Alerts")).to_be_visible()
    page.goto(path)


def describe(served: Served, asset: Json, text: str) -> None:
    with served.administrator() as client:
        operation = {"op": "add", "path": "/description", "value": text}
        assert client.patch(f"/tables/{asset['id']}", json=[operation], headers=PATCH).status_code == 200


def test_from_nothing_to_a_slack_message_at_a_receiver(
    served: Served, page: Page, receiver: LocalReceiver, sqlite_engine: Engine
) -> None:
    with served.administrator() as client:
        asset = warehouse(client)
    log_in(page, served, "/alerts")
    page.get_by_role("button", name="New alert").click()
    page.get_by_label("Name of the alert").fill("Described")
    page.get_by_role("button", name="Expression").click()
    condition = page.get_by_role("textbox", name="Condition")
    condition.fill("evntType == 'entityUpdated'")
    expect(page.get_by_text("Line 1, column 1: unknown field 'evntType'").first).to_be_visible()
    page.get_by_role("button", name="Write eventType").click()
    expect(page.get_by_text("valid", exact=True)).to_be_visible()
    page.get_by_role("button", name="Form").click()
    expect(page.get_by_label("What is asked")).to_have_value("event")
    page.get_by_role("button", name="Add Slack").click()
    page.get_by_label("Address", exact=True).fill(receiver.url)
    page.get_by_label("Name of this destination").fill("#shop")
    page.get_by_role("button", name="Test").last.click()
    expect(page.get_by_text("sent, answered 200")).to_be_visible()
    page.get_by_role("button", name="Daily").click()
    page.get_by_label("Time zone").select_option("UTC")
    expect(page.get_by_text("Next:")).to_contain_text("09:00")
    _asks_what_still_fails(page)
    page.get_by_role("button", name="At once").click()
    _comes_back(page)
    expect(page.get_by_text("When a table is changed, tell owners by bell and #shop by Slack")).to_be_visible()
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("the alert names this channel (alert Described)")
    preview.get_by_role("button", name="JSON").click()
    expect(preview.get_by_label("Body of the request", exact=True)).to_contain_text('"entityType": "table"')
    page.get_by_role("button", name="Create alert").click()
    expect(page.get_by_role("heading", name="Described")).to_be_visible()

    describe(served, asset, "All orders.")
    notify_all(sqlite_engine)
    with sending(sqlite_engine):
        until(lambda: len(receiver.texts) == 2, within_s=20)
    assert "orders: description" in receiver.texts[1]
    page.get_by_role("link", name="Deliveries").click()
    page.reload()
    expect(page.get_by_role("listitem").filter(has_text="orders").filter(has_text="#shop")).to_contain_text("delivered")


def _asks_what_still_fails(page: Page) -> None:
    """Add what is still so at the time of the schedule, see it said and shown, and take it away again."""
    page.get_by_role("button", name="what still fails").click()
    expect(page.get_by_text("When a table is changed or still fails at that time")).to_be_visible()
    expect(page.get_by_role("region", name="Preview")).to_contain_text("still failing")
    page.get_by_role("button", name="Remove this condition").last.click()
    expect(page.get_by_role("button", name="what still fails")).to_be_visible()


def _comes_back(page: Page) -> None:
    """Leave the page of a draft in the same moment as the last word is written, and find it again as it was."""
    page.get_by_label("What for").evaluate(
        """(field) => {
            field.value = 'Tells the shop.';
            field.dispatchEvent(new Event('input', { bubbles: true }));
            document.querySelector('nav a[href="/incidents"]').click();
        }"""
    )
    expect(page.get_by_role("heading", name="Incidents", exact=True)).to_be_visible()
    page.goto("/alerts/new")
    expect(page.get_by_label("Name of the alert")).to_have_value("Described")
    expect(page.get_by_label("What for")).to_have_value("Tells the shop.")


def test_an_edit_loses_nothing_and_what_git_manages_is_read_only(served: Served, page: Page) -> None:
    hook = {"category": "External", "type": "Webhook", "name": "ops", "timeout": 7}
    config = {"endpoint": "https://example.org/hook", "secretKey": "hush", "batchBy": "all"}
    rule = {"name": "described", "effect": "include", "condition": "fieldChanged == 'description'"}
    trigger = {"triggerType": "RealTime", "groupBy": "asset"}
    alert = {"name": "Described", "alertType": "Notification", "destinations": [{**hook, "config": config}]}
    details = {"severity": "Severity2", "runbook": "Ask.", "trigger": trigger, "retries": 5, "config": {"own": 1}}
    filtering = {"resources": ["table"], "rules": [rule]}
    with served.administrator() as client:
        client.post("/events/subscriptions", json={**alert, **details, "filteringRules": filtering}).raise_for_status()
        before = _alert(client)
        log_in(page, served, "/alerts/Described/edit")
        expect(page.get_by_role("button", name="Save changes")).to_be_disabled()
        page.get_by_label("What for").fill("Tells.")
        page.get_by_label("Runbook").fill("")
        page.get_by_role("button", name="Save changes").click()
        expect(page.get_by_text("Described is changed.")).to_be_visible()
        after = _alert(client)
        assert (after.pop("description"), after.get("runbook")) == ("Tells.", None)
        assert after == {key: value for key, value in before.items() if key != "runbook"}
        operation = {"op": "add", "path": "/config/managedIn", "value": "alerts/described.yaml"}
        client.patch("/events/subscriptions/name/Described", json=[operation], headers=PATCH).raise_for_status()
    page.goto("/alerts/Described/edit")
    expect(page.get_by_text("Managed in git: alerts/described.yaml")).to_be_visible()
    page.get_by_role("button", name="Edit it here instead").click()
    expect(page.get_by_role("button", name="Save changes")).to_be_visible()


def _alert(client: Client) -> Json:
    """Return the alert without what every change of it, and every moment, writes."""
    query = {"fields": "severity,runbook,destinations"}
    alert = client.get("/events/subscriptions/name/Described", params=query).json()
    for destination in alert["destinations"]:
        destination["statusDetails"].pop("timestamp")
    by_every_change = {"version", "updatedAt", "changeDescription", "incrementalChangeDescription"}
    return {key: value for key, value in alert.items() if key not in by_every_change}


def test_why_a_delivery_failed_is_found_out_and_it_is_replayed(
    served: Served, page: Page, receiver: LocalReceiver, sqlite_engine: Engine
) -> None:
    webhook = {"category": "External", "type": "Webhook", "name": "ops", "config": {"endpoint": receiver.url}}
    rule = {"name": "described", "effect": "include", "condition": "fieldChanged == 'description'"}
    alert = {"name": "Described", "alertType": "Notification", "destinations": [webhook], "retries": 0}
    filtering = {"resources": ["table"], "rules": [rule]}
    with served.administrator() as client:
        asset = warehouse(client)
        assert client.post("/events/subscriptions", json={**alert, "filteringRules": filtering}).status_code == 201
    describe(served, asset, "All orders.")
    notify_all(sqlite_engine)
    receiver.status = 404
    with sending(sqlite_engine):
        until(lambda: len(receiver.ids) == 1, within_s=20)

    log_in(page, served, "/alerts")
    row = page.get_by_role("row").filter(has_text="Described")
    expect(row).to_contain_text("404 refused the message")
    row.get_by_role("link", name="1 dead letter").click()
    page.get_by_role("button", name="1 attempt").click()
    expect(page.get_by_label("Request", exact=True)).to_contain_text(f"POST {receiver.url}")
    page.get_by_label("Choose all").check()
    expect(page.get_by_text("a receiver that had one drops the copy")).to_be_visible()
    receiver.status = 200
    with sending(sqlite_engine):
        page.get_by_role("button", name="Replay 1 message").click()
        expect(page.get_by_text("1 message delivered.")).to_be_visible()
    expect(page.get_by_text("No dead letters")).to_be_visible()
    assert receiver.ids[0] == receiver.ids[1]


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


@pytest.fixture
def described(served: Served, page: Page, sqlite_engine: Engine) -> Callable[[], Page]:
    """The page of an alert that has notified a person of two events."""

    def open_page() -> Page:
        user_id, owner = served.person("owen")
        owner.close()
        rule = {"name": "described", "effect": "include", "condition": "fieldChanged == 'description'"}
        owners = {"category": "Owners", "type": "ActivityFeed"}
        with served.administrator() as client:
            asset = warehouse(client)
            alert = {"name": "Described", "alertType": "Notification", "destinations": [owners]}
            filtering = {"resources": ["table"], "rules": [rule]}
            assert client.post("/events/subscriptions", json={**alert, "filteringRules": filtering}).status_code == 201
            operation = {"op": "add", "path": "/owners", "value": [{"id": user_id, "type": "user"}]}
            assert client.patch(f"/tables/{asset['id']}", json=[operation], headers=PATCH).status_code == 200
        describe(served, asset, "All orders.")
        notify_all(sqlite_engine)
        log_in(page, served, "/alerts/Described")
        return page

    return open_page


def test_noise_is_counted_and_a_backtest_is_drawn_with_whom_it_would_tell(
    described: Callable[[], Page], sqlite_engine: Engine
) -> None:
    page = described()
    expect(page.locator("dl").first).to_contain_text("1 notification")
    expect(page.get_by_text("Nothing that was tried spares any")).to_be_visible()
    backtest = page.get_by_role("region", name="Backtest")
    with at_work(sqlite_engine, NAMED_IN_MARKUP) as claimed_backtests:
        backtest.get_by_role("button", name="Backtest").click()
        expect(backtest).to_contain_text("30 matches")
    assert claimed_backtests[0].alert["name"] == "Described"
    expect(backtest).to_contain_text("4 matches would tell nobody · incidents hold back 3 · 5 duplicates merged.")
    assert backtest.locator("rect title").all_text_contents() == ["1 Mar: 10", "3 Mar: 20"]
    expect(backtest.get_by_role("cell", name="<b>ana</b>")).to_be_visible()
    expect(backtest).to_contain_text("Triggers OnCall: 20 notifications, 2 held back.")
    expect(backtest).to_contain_text("Triggers an alert that you may not view: 1 notifications, 0 held back.")


def test_a_backtest_shows_how_far_it_is_and_is_cancelled(described: Callable[[], Page], sqlite_engine: Engine) -> None:
    backtest = described().get_by_role("region", name="Backtest")
    with at_work(sqlite_engine, None):
        backtest.get_by_role("button", name="Backtest").click()
        expect(backtest).to_contain_text("300 of 1,200 events")
        assert backtest.get_by_role("progressbar").get_attribute("max") == "1200"
        backtest.get_by_role("button", name="Cancel").click()
        expect(backtest).to_contain_text("The backtest was cancelled.")


def test_without_a_pipeline_the_page_says_so(described: Callable[[], Page]) -> None:
    backtest = described().get_by_role("region", name="Backtest")
    backtest.get_by_role("button", name="Backtest").click()
    expect(backtest).to_contain_text("Waiting for a pipeline")
