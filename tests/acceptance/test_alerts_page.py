"""Walk through the alerts page of the seeds, section by section: server, pipeline, worker and receivers are real.

Everything that the examples are about happens once; each test then looks at what arrived.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.acceptance import alerts_page as page
from tests.acceptance.office import Office, due_times, post_room, working
from tests.contract.standards import ROOT, problems
from tests.serving import Json, running_server, server_settings
from tests.spark.test_match_stream import has_caught_up, parts_of
from tests.startedstore import StartedStore
from tests.waiting import until

from tocsin.clock import SystemClock, to_datetime
from tocsin.delivery.worker.dev_receiver import Receiver
from tocsin.jobs.match_stream import streaming
from tocsin.store.database.engine import open_engine

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

DAY_MS, EIGHT_MS = 86_400_000, 8 * 3_600_000
OFFICERS = ("quality.lead", "chief.data.officer", "compliance.officer", "finance.director")
PEOPLE = ("owner", "follower", "reader", "analyst", "data.engineer", *OFFICERS)
SUBSCRIPTIONS = "/events/subscriptions"
SCHEMA_FQN = "warehouse.shop.public"


@pytest.fixture(scope="module")
def office(
    started_spark: SparkSession, started_store: StartedStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Office]:
    """The office after everything has happened and all that is due was sent."""
    folder = tmp_path_factory.mktemp("office")
    shutil.copy(started_store.path, folder / "tocsin.db")
    receiver = Receiver(lambda _line: None, secret="your-secret-key")
    with post_room(receiver) as (http, smtp):
        settings = server_settings(data_dir=folder, smtp_host="127.0.0.1", smtp_port=smtp, smtp_tls="none")
        engine = open_engine(settings.store_url(), synchronous="OFF")
        with (
            running_server(engine, settings, password=started_store.password, token=started_store.token) as server,
            server.administrator() as client,
        ):
            office = Office(server, client, engine, settings, receiver, f"http://127.0.0.1:{http}")
            furnish(office)
            subscribe(office)
            relate(office)
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
    office.post("/teams", name="DataQuality", teamType="Group", users=[_user(office, "analyst")["id"]])
    office.post("/classifications", name="Priority", description="x")
    office.post("/tags", name="Critical", classification="Priority", description="x")
    office.post("/glossaries", name="words", description="x")
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
    ledger = office.post("/tables", name="ledger", databaseSchema=SCHEMA_FQN, columns=columns)
    revenue = office.post(
        "/tables", name="revenue", databaseSchema=SCHEMA_FQN, columns=columns, owners=[_user(office, "reader")]
    )
    office.client.put(f"/tables/{orders['id']}/followers", json=_user(office, "follower")["id"])
    office.post("/services/pipelineServices", name="airflow", serviceType="Airflow")
    pipeline = office.post("/pipelines", name="etl", service="airflow", owners=[_user(office, "owner")])
    office.client.put(f"/pipelines/{pipeline['id']}/followers", json=_user(office, "follower")["id"])
    load = office.post("/pipelines", name="load", service="airflow")
    for (source, kind), target in (((orders, "table"), revenue), ((load, "pipeline"), ledger)):
        edge = {"fromEntity": {"id": source["id"], "type": kind}, "toEntity": {"id": target["id"], "type": "table"}}
        assert office.client.put("/lineage", json={"edge": edge}).status_code == 200
    definition = office.client.get("/dataQuality/testDefinitions", params={"entityType": "TABLE", "limit": 1}).json()
    for table, name in (
        ("orders", "null_check"),
        ("revenue", "revenue_threshold_check"),
        ("ledger", "balance"),
    ):
        link = f"<#E::table::{SCHEMA_FQN}.{table}>"
        definition_fqn = definition["data"][0]["fullyQualifiedName"]
        office.post("/dataQuality/testCases", name=name, entityLink=link, testDefinition=definition_fqn)


def _user(office: Office, name: str) -> Json:
    user = office.client.get(f'/users/name/"{name}"' if "." in name else f"/users/name/{name}").json()
    return {"id": user["id"], "type": "user"}


def subscribe(office: Office) -> None:
    """Make the alerts of the page, and one with each of the destinations that it shows by themselves."""
    for example in page.ALERTS:
        office.alert(page.read(example, office.url))
    for destination in page.read(page.CHANNELS, office.url):
        office.alert(_on_names(f"Channel{destination['type']}", destination))
    for category, (config, _) in CATEGORIES.items():
        mail = {"category": category, "type": "Email", "config": config}
        about = {"filteringRules": {"resources": [THREADS[category]]}} if category in THREADS else {}
        office.alert({**_on_names(f"Category{category}", mail), **about})
    office.alert(_on_names("Downstream", page.read(page.DOWNSTREAM, office.url)))
    for name in ("follower", "reader"):
        hook = {"category": "External", "type": "Webhook", "config": {"endpoint": f"{office.url}/followed/{name}"}}
        rules = _rules("user.follows(entity) && fieldChanged == 'displayName'", "table")
        office.alert({**_on_names(f"Followed{name}", hook), **rules, "owners": [_user(office, name)]})
    followers = {"category": "Followers", "type": "Email"}
    office.alert({**_on_names("TestsOfFollowed", followers), **_rules("testStatus == 'Failed'", "testCase")})


def relate(office: Office) -> None:
    """Make the alert of the diagram with all that it names, and one of each type that has no example."""
    load_fails = _rules("pipelineStatus == 'Failed'", "pipeline")
    bell = {"category": "Owners", "type": "ActivityFeed"}
    office.alert({"name": "UpstreamFailure", "alertType": "Observability", **load_fails, "destinations": [bell]})
    office.alert(
        _on_names("DownstreamImpact", _hook(office, "/impact")) | _rules("eventType == 'entityRestored'", "table")
    )
    mails = ({"category": one, "type": "Email", "config": {"receivers": [name]}} for one, name in NOTIFIED.items())
    failures = {**_on_names("QualityTestFailure", _hook(office, "/pagerduty")), **_rules("testStatus == 'Failed'")}
    failures["filteringRules"]["resources"] = ["testCase", "table", "pipeline", "policy"]
    failures["destinations"] += mails
    governance = {
        "owners": [_user(office, "quality.lead")],
        "tags": [{"tagFQN": "Priority.Critical", "source": "Classification"}],
        "domains": ["DataQuality"],
    }
    office.alert({**failures, **governance, "dependsOn": ["UpstreamFailure"], "triggers": ["DownstreamImpact"]})
    office.alert({**_on_names("Feed", bell), "alertType": "ActivityFeed"})
    office.alert({**_on_names("Custom", _hook(office, "/custom")), "alertType": "Custom"})
    queue = {"category": "External", "type": "GovernanceWorkflowChangeEvent"}
    words = {"name": "Words", "alertType": "GovernanceWorkflowChangeEvent", "resources": ["glossaryTerm"]}
    office.alert({**words, "destinations": [queue]})


def _hook(office: Office, path: str) -> Json:
    return {"category": "External", "type": "Webhook", "config": {"endpoint": f"{office.url}{path}"}}


def _on_names(name: str, destination: Json) -> Json:
    """Return an alert on the display names of tables."""
    rules = _rules("fieldChanged == 'displayName'", "table")
    return {"name": name, "alertType": "Notification", **rules, "destinations": [destination]}


def _rules(condition: str, resource: str = "testCase") -> Json:
    return {"filteringRules": {"resources": [resource], "rules": [{"effect": "include", "condition": condition}]}}


def happen(office: Office) -> None:
    """Let happen, once each, what the examples watch for, and beside it what they do not."""
    orders = office.client.get(f"/tables/name/{SCHEMA_FQN}.orders").json()
    office.patch(
        f"/tables/{orders['id']}", {"op": "add", "path": "/columns/-", "value": {"name": "gift", "dataType": "INT"}}
    )
    office.patch(f"/tables/{orders['id']}", {"op": "add", "path": "/displayName", "value": "Orders"})
    now_ms = SystemClock().now_ms()
    report = {"timestamp": now_ms, "executionStatus": "Failed"}
    assert office.client.put("/pipelines/airflow.load/status", json=report).status_code == 200
    for at, (test, status) in enumerate(
        (
            ("orders.null_check", "Success"),
            ("orders.null_check", "Failed"),
            ("revenue.revenue_threshold_check", "Success"),
            ("revenue.revenue_threshold_check", "Failed"),
            ("ledger.balance", "Failed"),
            ("ledger.balance", "Failed"),
            ("orders.null_check", "Success"),
        )
    ):
        result = {"timestamp": now_ms + at, "testCaseStatus": status}
        office.post(f"/dataQuality/testCases/testCaseResults/{SCHEMA_FQN}.{test}", **result)
    for at, status in enumerate(("Successful", "PartialSuccess")):
        run = {"timestamp": now_ms + at, "executionStatus": status}
        assert office.client.put("/pipelines/airflow.etl/status", json=run).status_code == 200
    about = f"<#E::table::{SCHEMA_FQN}.orders>"
    task = {"type": "RequestDescription", "assignees": [_user(office, "analyst")]}
    office.post("/feed", about=about, message="Which orders?", type="Task", taskDetails=task)
    office.post("/feed", about=about, message="Look, <#E::user::reader>")
    office.post("/glossaryTerms", name="order", glossary="words", description="x")
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
        until(lambda: has_caught_up(office.engine), within_s=120)
    with working(office.settings):
        until(lambda: not due_times(office.engine, SystemClock().now_ms()), within_s=60)


CATEGORIES: dict[str, tuple[Json, set[str]]] = {
    "Users": ({"receivers": ["reader"]}, {"reader@example.org"}),
    "Teams": ({"receivers": ["DataQuality"]}, {"analyst@example.org"}),
    "Assignees": ({}, {"analyst@example.org"}),
    "Owners": ({}, {"owner@example.org"}),
    "Mentions": ({}, {"reader@example.org"}),
    "Followers": ({}, {"follower@example.org"}),
    "External": ({"receivers": ["desk@company.com"]}, {"desk@company.com"}),
}
"""By category, the configuration of a mail destination and who gets its mails; ``Admins`` is part of an example."""
OURS = ("tags", "triggers", "dependsOn", "extension")
"""What the page asks for and the published schema does not have."""
TESTS = ("null_check", "revenue_threshold_check", "balance")
THREADS = {"Assignees": "task", "Mentions": "conversation"}
CHANNELS = {
    "CustomerDataQualityAlert": "Slack",
    "PIIAccessViolationAlert": "Webhook",
    "ProductionSchemaChangeAlert": "MsTeams",
    "ETLPipelineFailureAlert": "Slack",
}
"""By alert of the page, its channel besides mail."""
NOTIFIED = {"Users": "data.engineer", "Teams": "DataQuality"}
"""Whom the alert of the diagram notifies by mail."""


def recipients(mails: list[tuple[str, str]]) -> set[str]:
    return {to for to, _ in mails}


# Use cases


def test_data_quality_alert(office: Office) -> None:
    posts = office.posts("/services/XXX/YYY/ZZZ")
    failed = [str(one["event"]) for one in posts if "null_check" in str(one["event"])]
    assert len(failed) == 1, "the failure, not the success"
    assert "null_check failed" in failed[0]
    mails = office.mails("CustomerDataQualityAlert")
    assert recipients(mails) == {"dataquality@company.com", "owner@example.org", "reader@example.org"}
    alert = office.alerts["CustomerDataQualityAlert"]
    assert [(one["type"], one["name"]) for one in alert["owners"]] == [("user", "quality.lead")]
    assert [(one["type"], one["name"]) for one in alert["domains"]] == [("domain", "DataQuality")]


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
    assert post["event"]["text"] == "2 failures: load, etl"
    assert "succeeded in part" in str(post["event"])
    assert recipients(office.mails("ETLPipelineFailureAlert")) == {"owner@example.org", "follower@example.org"}
    assert [(one["type"], one["name"]) for one in office.alerts["ETLPipelineFailureAlert"]["owners"]] == [
        ("team", "DataEngineering")
    ]


def test_scheduled_metric_alert(office: Office) -> None:
    early = recipients(office.mails("RevenueAnomalyAlert"))
    assert early <= {"reader@example.org"}, "not before eight, but with what another alert sends at once"
    due = set(due_times(office.engine))
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
    assert "1 step below" in " ".join(text.split())


def test_a_webhook_tells_of_what_its_owner_follows(office: Office) -> None:
    (post,) = office.posts("/followed/follower")
    assert post["event"]["entityFullyQualifiedName"] == f"{SCHEMA_FQN}.orders"
    assert office.posts("/followed/reader") == []


# Relationships


def test_an_alert_depends_on_one_and_triggers_another(office: Office) -> None:
    posts = [str(one["event"]) for one in office.posts("/pagerduty")]
    assert [sum(name in post for post in posts) for name in TESTS] == [1, 1, 1], "the load explains the second failure"
    assert [sum(name in str(one["event"]) for one in office.posts("/impact")) for name in TESTS] == [1, 1, 2]
    alert = office.alerts["QualityTestFailure"]
    alert_now = office.client.get(f"{SUBSCRIPTIONS}/{alert['id']}?fields=dependsOn,triggers,tags,owners,domains").json()
    assert [alert_now[key][0]["name"] for key in ("dependsOn", "triggers", "owners", "domains")] == [
        "UpstreamFailure",
        "DownstreamImpact",
        "quality.lead",
        "DataQuality",
    ]
    assert [one["tagFQN"] for one in alert_now["tags"]] == ["Priority.Critical"]
    mails = office.mails("QualityTestFailure")
    assert recipients(mails) == {"data.engineer@example.org", "analyst@example.org"}
    (mail_text,) = [text for to, text in mails if to == "analyst@example.org" and "balance" in text]
    assert "nothing more until INC-" in " ".join(mail_text.split())


def test_alert_events_open_incidents_that_a_success_resolves(office: Office) -> None:
    path = f"{SUBSCRIPTIONS}/{office.alerts['QualityTestFailure']['id']}/history"
    firings = office.client.get(path, params={"kind": "firing"}).json()["data"]
    assert sorted(one["notified"] for one in firings) == [0, 3, 3, 3]
    incidents = office.client.get("/incidents", params={"alert": "QualityTestFailure"}).json()["data"]
    states = {one["entity"]["fullyQualifiedName"].rpartition(".")[2]: one["status"] for one in incidents}
    assert states == {"null_check": "resolved", "revenue_threshold_check": "open", "balance": "open"}
    (resolved,) = [one["name"] for one in incidents if one["status"] == "resolved"]
    timeline = office.client.get(f"/incidents/{resolved}").json()["timeline"]
    assert [one["kind"] for one in timeline if one["kind"] != "message"] == ["opened", "recovered"]


# Schema


def test_every_alert_has_the_form_of_the_schema(office: Office) -> None:
    for alert in office.alerts.values():
        published = {key: value for key, value in alert.items() if key not in OURS}
        assert not ROOT.is_dir() or problems("events/eventSubscription.json", published) == []


# Alert types, subscription categories


def test_types_of_alerts_without_an_example_notify(office: Office) -> None:
    owner = _user(office, "owner")["id"]
    entries = office.client.get(f"/users/{owner}/notifications").json()["data"]
    assert "Feed" in {reason["subscriptionName"] for one in entries for reason in one["reasons"]}
    (post,) = office.posts("/custom")
    assert post["event"]["entityFullyQualifiedName"] == f"{SCHEMA_FQN}.orders"
    queue = f"{SUBSCRIPTIONS}/{office.alerts['Words']['id']}/queue"
    (item,) = office.post(f"{queue}/claim")["data"]
    assert item["event"]["entityFullyQualifiedName"] == "words.order"
    lease = {"id": item["id"], "lease": item["lease"]}
    assert office.post(f"{queue}/acknowledge", items=[lease])["data"][0]["state"] == "acknowledged"


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_reaches_its_recipients(office: Office, category: str) -> None:
    assert recipients(office.mails(f"Category{category}")) == CATEGORIES[category][1]


# Custom properties


def test_an_alert_has_custom_properties(office: Office) -> None:
    kind = office.client.get("/metadata/types/name/eventsubscription").json()
    text = office.client.get("/metadata/types/name/string").json()
    body = {"name": "costCenter", "description": "x", "propertyType": {"id": text["id"], "type": "type"}}
    assert office.client.put(f"/metadata/types/{kind['id']}", json=body).status_code == 200
    alert = office.alert({**page.read(page.SAMPLE, office.url), "name": "Charged", "extension": {"costCenter": "CC-7"}})
    assert alert["extension"] == {"costCenter": "CC-7"}


# API operations


def test_the_api_operations_answer(office: Office) -> None:
    path, sample = "/events/subscriptions", office.alerts["SampleSubscription"]
    assert office.client.get(f"{path}/{sample['id']}").json()["name"] == "SampleSubscription"
    assert office.client.get(f"{path}/name/SampleSubscription").json()["id"] == sample["id"]
    disabled_alert = office.patch(f"{path}/{sample['id']}", {"op": "replace", "path": "/enabled", "value": False})
    assert disabled_alert["enabled"] is False
    listed_alerts = office.client.get(path, params={"alertType": "Observability", "limit": 10}).json()["data"]
    assert {one["name"] for one in listed_alerts} >= {
        "CustomerDataQualityAlert",
        "RevenueAnomalyAlert",
        "SampleSubscription",
    }
    assert {one["alertType"] for one in listed_alerts} == {"Observability"}
    trial = office.post(f"{path}/validation/destination", **page.read(page.TRIAL, office.url))
    assert trial["statusDetails"]["status"] == "Success"
    quality = office.alerts["CustomerDataQualityAlert"]
    states = office.client.get(f"{path}/{quality['id']}/status").json()["data"]
    assert [one["statusDetails"]["status"] for one in states] == ["active", "active"]
    assert office.client.delete(f"{path}/{sample['id']}").status_code == 200
    assert office.client.get(f"{path}/{sample['id']}").status_code == 404


def test_the_logs_of_an_alert_say_what_arrived(office: Office) -> None:
    days = {
        key: f"{to_datetime(at):%Y-%m-%d}"
        for key, at in {"startDate": office.began_ms, "endDate": SystemClock().now_ms()}.items()
    }
    for name in CHANNELS:
        path = f"{SUBSCRIPTIONS}/{office.alerts[name]['id']}/logs"
        lines = office.client.get(path, params=days).json()["data"]
        channel_lines = [one for one in lines if one["channel"] != "Email"]
        assert {(one["channel"], one["statusCode"]) for one in channel_lines} == {(CHANNELS[name], 200)}
        mail_recipients = {one["recipient"] for one in lines if one["channel"] == "Email"}
        assert mail_recipients == recipients(office.mails(name))
        assert {one["status"] for one in lines} == {"delivered"}
        printed_query = {"startDate": "2024-01-01", "endDate": "2024-01-31"}
        assert office.client.get(path, params=printed_query).json() == {"data": [], "paging": {}}
