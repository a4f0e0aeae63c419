"""Walk through the alerts page of the seeds, section by section: server, pipeline, worker and receivers are real.

Everything that the examples are about happens once; each test then looks at what arrived.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine, select
from tests.acceptance import alerts_page as page
from tests.founded import Founded
from tests.serving import Json, Served, running_server, server_settings
from tests.spark.conftest import spark, started_spark
from tests.spark.test_match_stream import caught_up, parts_of
from tests.waiting import until

from tocsin.clock import FixedClock, SystemClock
from tocsin.jobs.match_stream import streaming
from tocsin.settings import Settings
from tocsin.store.engine import open_engine
from tocsin.store.tables import message
from tocsin.worker.build import Limits, build
from tocsin.worker.deliver import Worker
from tocsin.worker.dev_receiver import Receiver, receiving

__all__ = ["spark", "started_spark"]

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

PATCH = {"Content-Type": "application/json-patch+json"}
DAY_MS, EIGHT_MS = 86_400_000, 8 * 3_600_000
OFFICERS = ("quality.lead", "chief.data.officer", "compliance.officer", "finance.director")
PEOPLE = ("owner", "follower", "reader", *OFFICERS)
SCHEMA_FQN = "warehouse.shop.public"


@dataclass
class Office:
    """A running Tocsin, and what its receivers got."""

    served: Served
    client: httpx.Client
    engine: Engine
    settings: Settings
    receiver: Receiver
    url: str
    alerts: dict[str, Json] = field(default_factory=dict)

    def post(self, path: str, **request: Any) -> Json:
        answer = self.client.post(path, json=request)
        assert answer.status_code in (200, 201), f"{path}: {answer.text}"
        return answer.json()

    def alert(self, request: Json) -> Json:
        made = self.post("/events/subscriptions", **request)
        self.alerts[made["name"]] = made
        return made

    def patch(self, path: str, *operations: Json) -> Json:
        answer = self.client.patch(path, json=list(operations), headers=PATCH)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def mails(self, alert: str) -> list[tuple[str, str]]:
        """Return the recipients and texts of the mails that name an alert as a reason."""
        mails = [one for one in self.receiver.received() if one["kind"] == "mail"]
        return [(one["to"][0], one["text"]) for one in mails if f"(alert {alert})" in one["text"]]  # type: ignore[index, operator]

    def posts(self, path: str) -> list[Json]:
        """Return what arrived at a path."""
        return [one for one in self.receiver.received() if one["kind"] == "webhook" and one["path"] == path]


@asynccontextmanager
async def _working(settings: Settings, now_ms: int | None = None) -> AsyncIterator[None]:
    async with build(settings) as parts:
        clock = SystemClock() if now_ms is None else FixedClock(now_ms)
        stop = asyncio.Event()
        task = asyncio.create_task(Worker(replace(parts, limits=Limits(poll_s=0.05), clock=clock)).run(stop))
        try:
            yield
        finally:
            stop.set()
            await task


@contextmanager
def working(settings: Settings, now_ms: int | None = None) -> Iterator[None]:
    """Run a worker in a thread; at a fixed time if one is given."""
    stop, started = threading.Event(), threading.Event()

    async def work() -> None:
        async with _working(settings, now_ms):
            started.set()
            while not stop.is_set():
                await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    try:
        assert started.wait(30)
        yield
    finally:
        stop.set()
        thread.join(60)


@contextmanager
def post_room(receiver: Receiver) -> Iterator[tuple[int, int]]:
    """Receive mail and requests in a thread; yield the ports."""
    stop, started = threading.Event(), threading.Event()
    ports: list[tuple[int, int]] = []

    async def receive() -> None:
        async with receiving(receiver, 0, 0) as both:
            ports.append(both)
            started.set()
            while not stop.is_set():
                await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(receive()))
    thread.start()
    try:
        assert started.wait(30)
        yield ports[0]
    finally:
        stop.set()
        thread.join(30)


@pytest.fixture(scope="module")
def office(started_spark: SparkSession, founded: Founded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """The office after everything has happened and all that is due was sent."""
    folder = tmp_path_factory.mktemp("office")
    shutil.copy(founded.path, folder / "tocsin.db")
    receiver = Receiver(lambda _line: None, secret="your-secret-key")
    with post_room(receiver) as (http, smtp):
        settings = server_settings(data_dir=folder, smtp_host="127.0.0.1", smtp_port=smtp, smtp_tls="none")
        engine = open_engine(settings.store_url(), synchronous="OFF")
        with (
            running_server(engine, settings, password=founded.password, token=founded.token) as served,
            served.administrator() as client,
        ):
            office = Office(served, client, engine, settings, receiver, f"http://127.0.0.1:{http}")
            furnish(office)
            subscribe(office)
            happen(office)
            run(office, started_spark, folder)
            yield office
        engine.dispose()


def furnish(office: Office) -> None:
    """Make the people, domains and assets that the examples name, and some that they are about."""
    office.served.person("intruder")
    for name in PEOPLE:
        office.post("/users", name=name, email=f"{name}@example.org")
    office.post("/teams", name="DataEngineering", teamType="Group")
    for name in ("DataQuality", "Governance", "Finance"):
        office.post("/domains", name=name, domainType="Aggregate", description="x")
    office.post("/services/databaseServices", name="warehouse", serviceType="Postgres")
    office.post("/databases", name="shop", service="warehouse")
    office.post("/databaseSchemas", name="public", database="warehouse.shop")
    columns = [{"name": "id", "dataType": "INT"}]
    orders = office.post(
        "/tables", name="orders", databaseSchema=SCHEMA_FQN, columns=columns, owners=[_user(office, "owner")]
    )
    secret = {"tags": [{"tagFQN": "PII.Sensitive", "source": "Classification"}]}
    office.post("/tables", name="salaries", databaseSchema=SCHEMA_FQN, columns=columns, **secret)
    revenue = office.post(
        "/tables", name="revenue", databaseSchema=SCHEMA_FQN, columns=columns, owners=[_user(office, "reader")]
    )
    office.client.put(f"/tables/{orders['id']}/followers", json=_user(office, "follower")["id"])
    edge = {"fromEntity": {"id": orders["id"], "type": "table"}, "toEntity": {"id": revenue["id"], "type": "table"}}
    assert office.client.put("/lineage", json={"edge": edge}).status_code == 200
    office.post("/services/pipelineServices", name="airflow", serviceType="Airflow")
    pipeline = office.post("/pipelines", name="etl", service="airflow", owners=[_user(office, "owner")])
    office.client.put(f"/pipelines/{pipeline['id']}/followers", json=_user(office, "follower")["id"])
    definition = office.client.get("/dataQuality/testDefinitions", params={"entityType": "TABLE", "limit": 1}).json()
    for table, name in (("orders", "null_check"), ("revenue", "revenue_threshold_check")):
        link = f"<#E::table::{SCHEMA_FQN}.{table}>"
        named = definition["data"][0]["fullyQualifiedName"]
        office.post("/dataQuality/testCases", name=name, entityLink=link, testDefinition=named)


def _user(office: Office, name: str) -> Json:
    found = office.client.get(f'/users/name/"{name}"' if "." in name else f"/users/name/{name}").json()
    return {"id": found["id"], "type": "user"}


def subscribe(office: Office) -> None:
    """Make the alerts of the page, and one with each of the destinations that it shows by themselves."""
    for example in page.ALERTS:
        office.alert(page.read(example, office.url))
    for destination in page.read(page.CHANNELS, office.url):
        office.alert(_on_names(f"Channel{destination['type']}", destination))
    office.alert(_on_names("Downstream", page.read(page.DOWNSTREAM, office.url)))
    for name in ("follower", "reader"):
        hook = {"category": "External", "type": "Webhook", "config": {"endpoint": f"{office.url}/followed/{name}"}}
        rules = _rules("user.follows(entity) && fieldChanged == 'displayName'", "table")
        office.alert({**_on_names(f"Followed{name}", hook), **rules, "owners": [_user(office, name)]})
    followers = {"category": "Followers", "type": "Email"}
    office.alert({**_on_names("TestsOfFollowed", followers), **_rules("testStatus == 'Failed'", "testCase")})


def _on_names(name: str, destination: Json) -> Json:
    """Return an alert on the display names of tables."""
    rules = _rules("fieldChanged == 'displayName'", "table")
    return {"name": name, "alertType": "Notification", **rules, "destinations": [destination]}


def _rules(condition: str, resource: str) -> Json:
    return {"filteringRules": {"resources": [resource], "rules": [{"effect": "include", "condition": condition}]}}


def happen(office: Office) -> None:
    """Let happen, once each, what the examples watch for, and beside it what they do not."""
    orders = office.client.get(f"/tables/name/{SCHEMA_FQN}.orders").json()
    office.patch(
        f"/tables/{orders['id']}", {"op": "add", "path": "/columns/-", "value": {"name": "gift", "dataType": "INT"}}
    )
    office.patch(f"/tables/{orders['id']}", {"op": "add", "path": "/displayName", "value": "Orders"})
    now_ms = SystemClock().now_ms()
    for at, (test, status) in enumerate(
        (
            ("orders.null_check", "Success"),
            ("orders.null_check", "Failed"),
            ("revenue.revenue_threshold_check", "Success"),
            ("revenue.revenue_threshold_check", "Failed"),
        )
    ):
        result = {"timestamp": now_ms + at, "testCaseStatus": status}
        office.post(f"/dataQuality/testCases/testCaseResults/{SCHEMA_FQN}.{test}", **result)
    for at, status in enumerate(("Successful", "PartialSuccess")):
        run = {"timestamp": now_ms + at, "executionStatus": status}
        assert office.client.put("/pipelines/airflow.etl/status", json=run).status_code == 200
    with office.served.client(office.served.log_in("intruder@example.org", "intruder-password")) as intruder:
        salaries = office.client.get(f"/tables/name/{SCHEMA_FQN}.salaries").json()
        for table in (salaries, orders):
            assert intruder.delete(f"/tables/{table['id']}").status_code == 403
    violations = {"eventType": "policyViolation"}
    until(lambda: len(office.client.get("/events", params=violations).json()["data"]) == 2)


def run(office: Office, spark: SparkSession, folder: Path) -> None:
    """Run the pipeline over all of it, then a worker until nothing is due."""
    parts = replace(parts_of(spark, office.engine, folder / "checkpoint"), clock=SystemClock())
    with streaming(parts):
        until(lambda: caught_up(office.engine), within_s=120)
    with working(office.settings):
        until(lambda: not waiting(office.engine, SystemClock().now_ms()), within_s=60)


def waiting(engine: Engine, now_ms: int | None = None) -> list[int]:
    """Return when what is not sent yet is due, of all messages or of those that are due now."""
    is_open = message.c.status.in_(("pending", "awaitingRetry"))
    with engine.connect() as connection:
        due = list(connection.scalars(select(message.c.due_at_ms).where(is_open)))
    return [one for one in due if now_ms is None or one <= now_ms]


def recipients(mails: list[tuple[str, str]]) -> set[str]:
    return {to for to, _ in mails}


# Use cases


def test_data_quality_alert(office: Office) -> None:
    posts = office.posts("/services/XXX/YYY/ZZZ")
    failed = [str(one["event"]) for one in posts if "null_check" in str(one["event"])]
    assert len(failed) == 1, "the failure, not the success"
    assert "test failed" in failed[0].lower()
    mails = office.mails("CustomerDataQualityAlert")
    assert recipients(mails) == {"dataquality@company.com", "owner@example.org", "reader@example.org"}
    made = office.alerts["CustomerDataQualityAlert"]
    assert [(one["type"], one["name"]) for one in made["owners"]] == [("user", "quality.lead")]
    assert [(one["type"], one["name"]) for one in made["domains"]] == [("domain", "DataQuality")]


def test_schema_change_alert(office: Office) -> None:
    (card,) = [one["event"] for one in office.posts("/webhook/XXX") if "gift" in str(one["event"])]
    assert card["attachments"][0]["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert recipients(office.mails("ProductionSchemaChangeAlert")) == {"owner@example.org", "follower@example.org"}


def test_policy_violation_alert(office: Office) -> None:
    (post,) = office.posts("/security/alerts")
    assert post["headers"]["authorization"] == "Bearer XXX"
    (event,) = post["events"]
    assert event["eventType"] == "policyViolation"
    assert "salaries" in str(event["changeDescription"])
    mails = office.mails("PIIAccessViolationAlert")
    assert recipients(mails) == {"security@company.com", "admin@tocsin.example.org"}


def test_pipeline_failure_alert(office: Office) -> None:
    (post,) = [one for one in office.posts("/services/XXX") if "etl" in str(one["event"])]
    assert post["event"]["text"] == "etl: run partial success"
    assert recipients(office.mails("ETLPipelineFailureAlert")) == {"owner@example.org", "follower@example.org"}
    assert [(one["type"], one["name"]) for one in office.alerts["ETLPipelineFailureAlert"]["owners"]] == [
        ("team", "DataEngineering")
    ]


def test_scheduled_metric_alert(office: Office) -> None:
    early = recipients(office.mails("RevenueAnomalyAlert"))
    assert early <= {"reader@example.org"}, "not before eight, but with what another alert sends at once"
    due = set(waiting(office.engine))
    assert {one % DAY_MS for one in due} == {EIGHT_MS}
    with working(office.settings, max(due)):
        until(lambda: "finance@company.com" in recipients(office.mails("RevenueAnomalyAlert")))
    mails = office.mails("RevenueAnomalyAlert")
    assert recipients(mails) == {"finance@company.com", "reader@example.org"}
    assert all("revenue_threshold_check" in text and "null_check" not in text for _, text in mails)


def test_followers_of_a_table_hear_of_its_tests(office: Office) -> None:
    ((to, text),) = office.mails("TestsOfFollowed")
    assert to == "follower@example.org"
    assert "null_check" in text


# Notification channels, downstream notifications


def test_every_channel_of_the_page_delivers(office: Office) -> None:
    assert recipients(office.mails("ChannelEmail")) == {"team@company.com", "manager@company.com", "owner@example.org"}
    for path in ("/services/XXX/YYY/ZZZ", "/webhook/XXX", "/v1/spaces/XXX/messages"):
        renamed = [one for one in office.posts(path) if "display" in str(one["event"]).lower()]
        assert len(renamed) == 1, path
    (post,) = office.posts("/alerts")
    assert post["signature"] == "ok"
    assert post["headers"]["authorization"] == "Bearer XXX"
    assert post["headers"]["content-type"] == "application/json"


def test_owners_and_followers_downstream_are_notified(office: Office) -> None:
    assert recipients(office.mails("Downstream")) == {"owner@example.org", "follower@example.org", "reader@example.org"}
    ((_, text),) = [one for one in office.mails("Downstream") if one[0] == "reader@example.org"]
    assert "1 hop downstream" in " ".join(text.split())


def test_a_webhook_tells_of_what_its_owner_follows(office: Office) -> None:
    (post,) = office.posts("/followed/follower")
    assert post["event"]["entityFullyQualifiedName"] == f"{SCHEMA_FQN}.orders"
    assert office.posts("/followed/reader") == []


# Custom properties


def test_an_alert_has_custom_properties(office: Office) -> None:
    kind = office.client.get("/metadata/types/name/eventsubscription").json()
    text = office.client.get("/metadata/types/name/string").json()
    body = {"name": "costCenter", "description": "x", "propertyType": {"id": text["id"], "type": "type"}}
    assert office.client.put(f"/metadata/types/{kind['id']}", json=body).status_code == 200
    made = office.alert({**page.read(page.SAMPLE, office.url), "name": "Charged", "extension": {"costCenter": "CC-7"}})
    assert made["extension"] == {"costCenter": "CC-7"}


# API operations


def test_the_api_operations_answer(office: Office) -> None:
    path, sample = "/events/subscriptions", office.alerts["SampleSubscription"]
    assert office.client.get(f"{path}/{sample['id']}").json()["name"] == "SampleSubscription"
    assert office.client.get(f"{path}/name/SampleSubscription").json()["id"] == sample["id"]
    disabled = office.patch(f"{path}/{sample['id']}", {"op": "replace", "path": "/enabled", "value": False})
    assert disabled["enabled"] is False
    listed = office.client.get(path, params={"alertType": "Observability", "limit": 10}).json()["data"]
    assert {one["name"] for one in listed} >= {"CustomerDataQualityAlert", "RevenueAnomalyAlert", "SampleSubscription"}
    assert {one["alertType"] for one in listed} == {"Observability"}
    tried = office.post(f"{path}/validation/destination", **page.read(page.TRIAL, office.url))
    assert tried["statusDetails"]["status"] == "Success"
    quality = office.alerts["CustomerDataQualityAlert"]
    states = office.client.get(f"{path}/{quality['id']}/status").json()["data"]
    assert [one["statusDetails"]["status"] for one in states] == ["active", "active"]
    assert office.client.delete(f"{path}/{sample['id']}").status_code == 200
    assert office.client.get(f"{path}/{sample['id']}").status_code == 404
